//! What comes with a verdict, against the oracle: the order explains everything, the operations
//! that are shown are a violation in themselves.

use trueline::Verdict;

use super::history::{End, History, Operation, Subject, is_linearizable};

/// True where the verdict is shown by what comes with it. `read` is the history as it was read from
/// a text.
pub(crate) fn is_shown(
    subject: &Subject,
    history: &History,
    read: &trueline::History,
    verdict: &Verdict,
) -> bool {
    // Operations that failed are gone; all others are numbered by their calls.
    let all: Vec<&Operation> = history.operations.iter().filter(|o| o.end != End::Failed).collect();
    match verdict {
        Verdict::Linearizable(witness) => {
            let order: Vec<&Operation> = witness.order.iter().map(|&i| all[i as usize]).collect();
            let is_complete = (0..all.len() as u32).all(|i| {
                let times = witness.order.iter().filter(|&&j| j == i).count();
                let returned = matches!(all[i as usize].end, End::Returned(_));
                times == 1 || (times == 0 && !returned)
            });
            is_complete && keeps_real_time(&order) && explains(subject, history, &order)
        }
        Verdict::Violation(explanation) => {
            let shown = explanation.operations.iter().map(|&i| {
                let mut operation = all[i as usize].clone();
                if read.operations()[i as usize].returned >= explanation.until {
                    (operation.end, operation.over) = (End::Open, usize::MAX);
                }
                operation
            });
            let shown = History { operations: shown.collect(), objects: history.objects };
            // A story that starts in the middle starts in other states: none is as short as these.
            explanation.start.is_none() && !is_linearizable(subject, &shown)
        }
        Verdict::Unknown(_) => true,
    }
}

fn keeps_real_time(order: &[&Operation]) -> bool {
    let returned = |o: &Operation| matches!(o.end, End::Returned(_));
    let too_late = |(i, o): (usize, &&Operation)| {
        order[..i].iter().any(|earlier| returned(o) && o.over < earlier.call)
    };
    !order.iter().enumerate().any(too_late)
}

/// True where each object can do its operations in this order, in one meaning of all results.
fn explains(subject: &Subject, history: &History, order: &[&Operation]) -> bool {
    subject.starts_of(history).into_iter().any(|starts| {
        (0..history.objects).all(|object| {
            let mut states = starts.clone();
            for o in order.iter().filter(|o| o.object == object) {
                let mut next = Vec::new();
                for state in &states {
                    for (told, after) in state.outcomes((o.method, &o.args)) {
                        let fits = match &o.end {
                            End::Returned(recorded) => state.reads(o.method, recorded, &told),
                            _ => true,
                        };
                        if fits && !next.contains(&after) {
                            next.push(after);
                        }
                    }
                }
                states = next;
            }
            !states.is_empty()
        })
    })
}
