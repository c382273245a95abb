//! Memory that one thread uses and another frees: the explorer reports exactly what brute force
//! finds wrong.

mod oracle;
mod program;

use trueline::rng::{self, Rng};
use trueline_explore::engine::Exploration;
use trueline_explore::engine::interface::Failure;

#[test]
fn a_free_is_reported_if_and_only_if_some_use_is_not_ordered_before_it() {
    let seeds = rng::seeds(1000);
    let cases = seeds.cases();
    let (mut wrong, mut fine) = (0, 0);
    for seed in seeds {
        let program = program::random(&mut Rng::new(seed));
        let (expected, _) = oracle::misuses(&program);
        let report = Exploration::new().run(|| program::run(&program));
        let told = match &report.failure {
            Some(Failure::Memory { .. } | Failure::Race { .. }) => true,
            None => false,
            Some(other) => panic!("seed {seed}: {other:?}: {program:#?}"),
        };
        assert_eq!(told, expected, "seed {seed}: {program:#?}\n{report}");
        assert!(told || report.holds(), "seed {seed}: {report}");
        *(if expected { &mut wrong } else { &mut fine }) += 1;
    }
    assert!(wrong > cases / 5 && fine > cases / 5, "{wrong} wrong, {fine} fine");
}
