//! Checkpoints: a run that goes on from one ends as if it had not been stopped, and no other file
//! is one.

use std::path::PathBuf;
use std::sync::Arc;

use trueline::Budget;
use trueline_model::engine::{Counterexample, Counts, Options, Outcome, Verdict, verify};
use trueline_model::program::Program;
use trueline_model::{Model, Semantics, library};

/// A built-in model, compiled anew: nothing is known of what an earlier run met.
fn compiled(name: &str, settings: &[(&str, i32)]) -> Arc<Program> {
    let mut model = Model::parse(library::find(name).unwrap().source).unwrap();
    settings.iter().for_each(|(name, value)| model.set(name, *value).unwrap());
    Arc::new(model.compile(Semantics::Default, false).unwrap())
}

/// A file of this test's own, removed when the test ends.
struct Kept(PathBuf);

impl Kept {
    fn new(name: &str) -> Kept {
        Kept(std::env::temp_dir().join(format!("trueline-{name}-{}", std::process::id())))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn counts(report: &Outcome<Counterexample, Counts>) -> (u64, u64, u64, u64) {
    (report.counts.states, report.counts.transitions, report.counts.depth, report.counts.terminal)
}

/// `spec stack` numbers its states as it meets them: a run that knew the numbers alone would take
/// them for other states.
#[test]
fn a_checkpoint_of_a_named_specification_keeps_what_its_numbers_mean() {
    let kept = Kept::new("named");
    let plain = Options::plain();
    for bug in [0, 1] {
        let program = || compiled("treiber", &[("procs", 2), ("ops", 2), ("bug", bug)]);
        let whole = verify(&program(), &plain, &Budget::unlimited());
        let stopping = Options { checkpoint: Some(kept.0.clone()), ..plain.clone() };
        let stopped =
            verify(&program(), &stopping, &Budget::unlimited().steps(whole.counts.states / 3));
        assert!(matches!(stopped.verdict, Verdict::Undecided(_)), "{:?}", stopped.verdict);
        let resuming = Options { resume: Some(kept.0.clone()), ..plain.clone() };
        let resumed = verify(&program(), &resuming, &Budget::unlimited());
        assert_eq!(counts(&resumed), counts(&whole), "bug {bug}");
        match (&whole.verdict, &resumed.verdict) {
            (Verdict::Holds, Verdict::Holds) => assert_eq!(bug, 0),
            (Verdict::Violation(one), Verdict::Violation(other)) => {
                assert_eq!(one.trace.steps.len(), other.trace.steps.len());
            }
            (one, other) => panic!("bug {bug}: {one:?} and {other:?}"),
        }
    }
}

/// Every byte counts: with one changed, or some missing or added, or of another kind, the file is
/// refused and nothing of it is used.
#[test]
fn a_damaged_checkpoint_is_refused() {
    let kept = Kept::new("damaged");
    let program = compiled("treiber", &[("procs", 2), ("ops", 1), ("bug", 1)]);
    let options = Options { checkpoint: Some(kept.0.clone()), ..Options::plain() };
    let stopped = verify(&program, &options, &Budget::unlimited().steps(20));
    assert!(matches!(stopped.verdict, Verdict::Undecided(_)), "{:?}", stopped.verdict);
    let sound = std::fs::read(&kept.0).unwrap();
    let resuming = Options { resume: Some(kept.0.clone()), ..Options::plain() };
    let refusal = |bytes: &[u8]| {
        std::fs::write(&kept.0, bytes).unwrap();
        let found = verify(&program, &resuming, &Budget::unlimited());
        found.error().unwrap_or_else(|| panic!("{found:?}")).to_string()
    };
    for at in (24..sound.len()).step_by(31) {
        let mut bytes = sound.clone();
        bytes[at] ^= 1 << (at % 8);
        let why = refusal(&bytes);
        assert!(why.contains("damaged"), "byte {at}: {why}");
    }
    assert!(refusal(&sound[..sound.len() - 1]).contains("cut short"));
    assert!(refusal(&sound[..30]).contains("cut short"));
    assert!(refusal(&[&sound[..], b"x"].concat()).contains("damaged"));
    assert!(refusal(b"").contains("too short"));
    let folder = Options { resume: Some(std::env::temp_dir()), ..Options::plain() };
    let verdict = verify(&program, &folder, &Budget::unlimited()).verdict;
    assert!(verdict.error().is_some_and(|why| why.contains("regular file")), "{verdict:?}");
    assert!(refusal(&[b'{'; 100]).contains("not a checkpoint of trueline"));
    assert!(refusal(b"trueline checkpoint 1   and more").contains("another version"));
    std::fs::write(&kept.0, &sound).unwrap();
    let resumed = verify(&program, &resuming, &Budget::unlimited());
    assert!(resumed.error().is_none(), "{:?}", resumed.verdict);
}

/// A checkpoint takes the place of a regular file or of nothing: never of a link, a folder or a
/// device.
#[test]
fn a_checkpoint_replaces_nothing_but_a_regular_file() {
    let folder = Kept::new("places");
    std::fs::create_dir_all(&folder.0).unwrap();
    let program = compiled("counter", &[]);
    let verdict = |path: PathBuf| {
        let options = Options { checkpoint: Some(path), ..Options::default() };
        verify(&program, &options, &Budget::unlimited()).verdict
    };
    let refused = |path: PathBuf, why: &str| {
        let verdict = verdict(path);
        assert!(verdict.error().is_some_and(|said| said.contains(why)), "{verdict:?}");
    };
    refused(folder.0.clone(), "a folder");
    refused(folder.0.join("nowhere").join("kept"), "no checkpoint can be written there");
    #[cfg(unix)]
    {
        refused("/dev/null".into(), "not a regular file");
        let (target, link) = (folder.0.join("target"), folder.0.join("link"));
        std::fs::write(&target, "mine").unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        refused(link.clone(), "not a regular file");
        std::fs::rename(&link, folder.0.join("kept.part")).unwrap();
        refused(folder.0.join("kept"), "not a regular file");
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "mine");
        std::fs::remove_file(folder.0.join("kept.part")).unwrap();
    }
    assert!(matches!(verdict(folder.0.join("kept")), Verdict::Holds));
    assert!(!folder.0.join("kept.part").exists());
    std::fs::remove_dir_all(&folder.0).unwrap();
}
