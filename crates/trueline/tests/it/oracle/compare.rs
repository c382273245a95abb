//! Holds every algorithm against the oracle on one history.

use trueline::papers::Algorithm as Paper;
use trueline::spec::Spec;
use trueline::verdict::Reason;
use trueline::{Algorithm, Check, History, Verdict};

use super::is_linearizable;

/// Whether the history is linearizable, or who is wrong about it.
pub fn compare<S: Spec + Clone>(
    spec: &S,
    history: &History<S::Op, S::Ret>,
) -> Result<bool, String> {
    compare_those(spec, history, |_| true)
}

/// The same for some of the algorithms.
pub fn compare_those<S: Spec + Clone>(
    spec: &S,
    history: &History<S::Op, S::Ret>,
    counts: impl Fn(Algorithm) -> bool,
) -> Result<bool, String> {
    let expected = is_linearizable(spec, history);
    for &(algorithm, name, _) in Algorithm::ALL.iter().filter(|a| counts(a.0)) {
        // It tries every order, at every return.
        if matches!(algorithm, Algorithm::Paper(Paper::Enumerate(_))) && history.len() > 5 {
            continue;
        }
        let verdict = Check::new(spec.clone()).algorithm(algorithm).run(history).verdict;
        let wrong = match &verdict {
            Verdict::Linearizable(_) => !expected,
            Verdict::Violation(explanation) => {
                // The prefix is about the part (the key) that the explanation is about.
                let key = |i: u32| spec.partition(&history.operations()[i as usize].op);
                let all = 0..history.len() as u32;
                let splits = all.clone().all(|i| key(i).is_some());
                let of_part = |&i: &u32| !splits || key(i) == key(explanation.operations[0]);
                let part = history.select(&all.filter(of_part).collect::<Vec<_>>());
                let prefix_is_fine = |end| is_linearizable(spec, &part.prefix(end));
                let prefix_is_right = explanation
                    .fine_until
                    .is_none_or(|end| prefix_is_fine(end) && !prefix_is_fine(end + 1));
                // A story that starts late cannot be explained without its starting states.
                let story = history.select(&explanation.operations).prefix(explanation.until);
                let story_is_right = explanation.start.is_some() || !is_linearizable(spec, &story);
                expected || !prefix_is_right || !story_is_right || !explanation.rechecked
            }
            // A monitor that was named need not fit.
            Verdict::Unknown(unknown) => !matches!(unknown.reason, Reason::NotApplicable(_)),
        };
        if wrong {
            return Err(format!("{name} says {verdict:?}, the oracle: linearizable is {expected}"));
        }
    }
    Ok(expected)
}
