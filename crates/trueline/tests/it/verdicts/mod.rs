//! What `check` and `monitor` say of texts, against a naive search over objects of its own. Nothing
//! of trueline's decides here what a text means: values, methods, results that are left out and
//! orders are told once more in `value.rs`, `model.rs` and `history.rs`. `TRUELINE_CASES` says how
//! many histories there are, over all specifications together.

mod certificates;
mod history;
mod model;
mod subjects;
mod texts;
mod value;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use trueline::formats::{self, EventLine, EventReader, Format, Keys, ReadOptions};
use trueline::history::{Call, Event};
use trueline::rng::{self, Rng};
use trueline::spec::{self, Named};
use trueline::stream::{self, Stopped, Watch};
use trueline::{Algorithm, Budget, Verdict};

use history::{History, Subject};

/// The largest number of operations; the search tries all orders.
const MOST: u64 = 7;

/// A random history for a seed: the specification, what it is, and what it should be found to be.
fn case(seed: u64) -> (Rng, Subject, History, bool) {
    let mut random = Rng::new(seed ^ 0x5ca1ab1e << 20);
    let subject = subjects::pick(&mut random);
    let history = history::random(&subject, MOST, &mut random);
    let expected = history::is_linearizable(&subject, &history);
    (random, subject, history, expected)
}

/// What a text says to a reader that knows the specification.
fn read(text: &str, spec: &Named, keys: bool) -> Result<trueline::History, String> {
    let keys = match (keys, spec.takes_keys()) {
        (true, _) => Keys::Yes,
        (false, true) => Keys::Arguments,
        (false, false) => Keys::No,
    };
    let options = ReadOptions { format: None, keys };
    formats::read(text.as_bytes(), &options).map(|(history, _)| history).map_err(|e| e.to_string())
}

/// What `check` says of a history; the error is the message.
fn verdict(
    history: &trueline::History,
    spec: &Named,
    algorithm: Algorithm,
) -> Result<Option<bool>, String> {
    let outcome =
        spec.check(history, algorithm, &Budget::unlimited()).map_err(|e| e.to_string())?;
    Ok(match outcome.verdict {
        Verdict::Linearizable(_) => Some(true),
        Verdict::Violation(_) => Some(false),
        Verdict::Unknown(_) => None,
    })
}

#[test]
fn check_agrees_with_a_search_that_shares_no_code() {
    let seeds = rng::seeds(3_000);
    let cases = seeds.cases();
    let (mut good, mut texts, mut converted) = (0, 0, 0);
    for seed in seeds {
        let (mut random, subject, history, expected) = case(seed);
        good += u64::from(expected);
        let spec = spec::named(&subject.name).unwrap();
        let edn = history::edn(&subject, &history, false, &mut random);
        let all = [
            Some(history::json_lines(&subject, &history, &mut random)),
            edn.as_deref().and_then(texts::jepsen_log),
            edn,
            history::calls(&subject, &history, &mut random),
            texts::limo(&subject, &history, &mut random),
            texts::edn_kv(&subject, &history, &mut random),
            history::wing_gong(&history, &mut random),
        ];
        if let Some(text) = all[0].as_deref().filter(|_| !history.operations.is_empty()) {
            let read =
                read(text, &spec, false).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
            let (algorithm, name, _) = Algorithm::ALL[random.index(Algorithm::ALL.len())];
            let outcome = spec.check(&read, algorithm, &Budget::unlimited());
            let verdict = outcome.unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}")).verdict;
            let shown = certificates::is_shown(&subject, &history, &read, &verdict);
            assert!(shown, "seed {seed}: {name}: {}\n{verdict:?}\n{text}", subject.name);
        }
        texts += other_times(seed, &subject, &history, &spec, &mut random);
        texts += independent_keys(seed, &subject, &history, &spec, expected, &mut random);
        texts += several_histories(seed, &subject, &spec, &mut random);
        if let Some((text, is_refused)) = history::intervals(&subject, &history)
            && !text.is_empty()
        {
            texts += 1;
            let said = read(&text, &spec, false);
            assert_eq!(said.is_err(), is_refused, "seed {seed}: {said:?}\n{text}");
            let said = said.and_then(|history| verdict(&history, &spec, Algorithm::Auto));
            // Nor is it distinguished from an initial value.
            let starts_so = subject.starts[0].items.contains(&value::V::int(-1));
            let is_fine = said == Ok(Some(expected)) || (starts_so && said.is_err());
            assert!(is_refused || is_fine, "seed {seed}: {} {said:?}\n{text}", subject.name);
        }
        for text in all.into_iter().flatten().filter(|_| !history.operations.is_empty()) {
            texts += 1;
            let why = format!("seed {seed}: {}\n{text}", subject.name);
            let history = read(&text, &spec, false).unwrap_or_else(|e| panic!("{e}: {why}"));
            let said = verdict(&history, &spec, Algorithm::Auto);
            assert_eq!(said, Ok(Some(expected)), "{why}");
            // An algorithm that was named need not fit.
            let (algorithm, name, _) = Algorithm::ALL[random.index(Algorithm::ALL.len())];
            let said = verdict(&history, &spec, algorithm);
            let is_right = said == Ok(Some(expected)) || said == Ok(None);
            assert!(is_right, "{name}: {said:?}, not {expected}: {why}");
            // What is converted says the same, or is refused.
            let format = Format::ALL[random.index(Format::ALL.len())];
            let mut written = Vec::new();
            // A file without any operation is an error.
            if !history.is_empty() && formats::write(&history, format, &mut written).is_ok() {
                converted += 1;
                let written = String::from_utf8(written).unwrap();
                let keys = history.parts().iter().any(|part| !part.key.is_nil());
                let again = read(&written, &spec, keys);
                let said = again.and_then(|again| verdict(&again, &spec, Algorithm::Auto));
                assert_eq!(said, Ok(Some(expected)), "converted to {format}:\n{written}{why}");
            }
        }
    }
    println!("{cases} histories in {texts} texts, {converted} converted; {good} linearizable");
    assert!(good > cases / 10 && good < cases * 9 / 10, "one-sided: {good} of {cases}");
}

/// Formats made of intervals mean what their clock shows. How many texts there are.
fn other_times(
    seed: u64,
    subject: &Subject,
    history: &History,
    spec: &Named,
    random: &mut Rng,
) -> u64 {
    let coarse = texts::coarser(history, 1 + random.index(3));
    let mut all = vec![(texts::json_intervals(subject, &coarse, random), coarse.clone())];
    all.extend(texts::intervals_pid(subject, &coarse));
    all.retain(|(_, meant)| !meant.operations.is_empty());
    for (text, meant) in &all {
        let expected = history::is_linearizable(subject, meant);
        let said = read(text, spec, false).and_then(|h| verdict(&h, spec, Algorithm::Auto));
        assert_eq!(said, Ok(Some(expected)), "seed {seed}: {}\n{text}", subject.name);
    }
    all.len() as u64
}

/// Values with independent keys: as they are said to be, and as they are guessed. How many texts
/// there are.
fn independent_keys(
    seed: u64,
    subject: &Subject,
    history: &History,
    spec: &Named,
    expected: bool,
    random: &mut Rng,
) -> u64 {
    if history.operations.is_empty() || spec.takes_keys() {
        return 0;
    }
    // Lists that are no keys may look like them.
    let keys = if random.percent(30) { Keys::No } else { Keys::Yes };
    let Some(text) = history::edn(subject, history, keys == Keys::Yes, random) else { return 0 };
    let why = format!("seed {seed}: {}\n{text}", subject.name);
    let said = |keys| {
        let options = ReadOptions { format: Some(Format::Edn), keys };
        let read = formats::read(text.as_bytes(), &options).map_err(|e| e.to_string());
        read.and_then(|(history, _)| {
            Ok((verdict(&history, spec, Algorithm::Auto)?, history.guessed_keys()))
        })
    };
    assert_eq!(said(keys), Ok((Some(expected), None)), "{keys:?} {why}");
    // A guess is reported. Without one, no value looks like a key.
    if let Ok((guessed, guess)) = said(Keys::Auto) {
        let meant = if guess == Some(true) { Keys::Yes } else { Keys::No };
        assert_eq!(said(meant), Ok((guessed, None)), "guessed {guess:?} {why}");
    }
    1
}

/// A blank line separates histories. How many texts there are.
fn several_histories(seed: u64, subject: &Subject, spec: &Named, random: &mut Rng) -> u64 {
    let mut all = Vec::new();
    for _ in 0..3 {
        let history = history::random(subject, 4, random);
        let text = history::wing_gong(&history, random).filter(|text| !text.is_empty());
        all.extend(text.map(|text| (text, history::is_linearizable(subject, &history))));
    }
    let (texts, expected): (Vec<String>, Vec<bool>) = all.into_iter().unzip();
    if texts.is_empty() {
        return 0;
    }
    let text = texts.join(["\n", "\n\n", " \n"][random.index(3)]);
    let options = ReadOptions { format: None, keys: Keys::No };
    let why = format!("seed {seed}: {}\n{text}", subject.name);
    let (histories, _) =
        formats::read_all(text.as_bytes(), &options).unwrap_or_else(|e| panic!("{e}: {why}"));
    let said: Vec<_> = histories.iter().map(|h| verdict(h, spec, Algorithm::Auto)).collect();
    let expected: Vec<_> = expected.into_iter().map(|expected| Ok(Some(expected))).collect();
    assert_eq!(said, expected, "{why}");
    1
}

/// What a monitor says of a stream of events; `None`: nothing.
fn watch(text: &str, watch: &mut Watch) -> Result<Option<bool>, String> {
    let mut reader = EventReader::new(text.as_bytes());
    let (mut processes, mut objects) = (HashMap::new(), HashMap::new());
    loop {
        let EventLine { process, event, at, .. } = match reader.next_event() {
            Ok(Some(line)) => line,
            Ok(None) => break,
            Err(error) => return Err(format!("{error:?}")),
        };
        let new = || watch.process(reader.process(process).clone());
        let process = *processes.entry(process).or_insert_with(new);
        let event = match event {
            Event::Call(part, Call { method, args }) => {
                let object = match objects.entry(part) {
                    Entry::Occupied(known) => *known.get(),
                    Entry::Vacant(new) => match watch.object(reader.part(part).clone()) {
                        Ok(object) => *new.insert(object),
                        Err(_) => return Ok(None),
                    },
                };
                let method = watch.method(reader.method(method));
                Event::Call(object, Call { method, args })
            }
            other => other,
        };
        let told = watch.event(process, event, at);
        match told {
            Ok(()) => {}
            Err(stopped) => return said(stopped),
        }
    }
    watch.finish().map_or_else(said, |()| Ok(Some(true)))
}

fn said(stopped: stream::Ended) -> Result<Option<bool>, String> {
    match stopped {
        Stopped::Violation(_) => Ok(Some(false)),
        Stopped::Unknown(_) => Ok(None),
        Stopped::Input(error) => Err(error.to_string()),
    }
}

#[test]
fn monitor_agrees_with_a_search_that_shares_no_code() {
    let seeds = rng::seeds(6_000);
    let cases = seeds.cases();
    let (mut watched, mut decided, mut good) = (0, 0, 0);
    for seed in seeds {
        let (mut random, subject, history, expected) = case(seed ^ 1 << 60);
        let spec = spec::named(&subject.name).unwrap();
        let Ok(mut exact) = spec.watch(stream::Algorithm::Exact) else { continue };
        let text = history::json_lines(&subject, &history, &mut random);
        let why = format!("seed {seed}: {}\n{text}", subject.name);
        let said = watch(&text, &mut exact);
        let is_right = said == Ok(Some(expected)) || said == Ok(None);
        assert!(is_right, "{said:?}, not {expected}: {why}");
        watched += 1;
        decided += u64::from(said != Ok(None));
        good += u64::from(expected);
        if let Ok(mut saturate) = spec.watch(stream::Algorithm::Saturate) {
            match watch(&text, &mut saturate) {
                Ok(Some(false)) => assert!(!expected, "saturate is wrong: {why}"),
                Ok(_) => {}
                Err(error) => panic!("{error}: {why}"),
            }
        }
    }
    println!(
        "{cases} histories, {watched} watched, {decided} decided, {good} of them linearizable"
    );
    assert!(decided > watched / 3 && watched > cases / 4, "{decided} of {watched} of {cases}");
}
