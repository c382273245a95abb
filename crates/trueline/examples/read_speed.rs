//! How fast a file reads: `cargo run --release --example read_speed -- FILE...`. With
//! `--generate FOLDER OPERATIONS`, it first writes one history as EDN and as JSON Lines into the
//! folder.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::time::Instant;

use trueline::formats::{ReadOptions, read};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, folder, operations] = args.as_slice()
        && flag == "--generate"
    {
        return generate(folder, operations.parse().expect("a number of operations"));
    }
    for path in &args {
        let file = File::open(path).expect("a file that can be opened");
        let bytes = file.metadata().expect("metadata").len();
        let begin = Instant::now();
        match read(file, &ReadOptions::default()) {
            Ok((history, format)) => {
                let seconds = begin.elapsed().as_secs_f64();
                println!(
                    "{path}: {format}, {} operations, {:.3} s, {:.0} MB/s, history {} MB",
                    history.len(),
                    seconds,
                    bytes as f64 / seconds / 1e6,
                    size_of_val(history.operations()) / 1_000_000,
                );
            }
            Err(error) => println!("{path}:{error}"),
        }
    }
}

fn generate(folder: &str, operations: u64) {
    let (mut edn, mut json) = (String::new(), String::new());
    let mut time = 0u64;
    for i in 0..operations {
        let (process, value) = (i % 8, i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60);
        time += 153_339;
        let (f, call, ret) = match i % 3 {
            0 => ("read", "nil".to_string(), value.to_string()),
            1 => ("write", value.to_string(), value.to_string()),
            _ => ("cas", format!("[{value} {}]", i % 5), format!("[{value} {}]", i % 5)),
        };
        let mut event = |kind: &str, value: &str, index: u64, time: u64| {
            writeln!(
                edn,
                "{{:process {process}, :type :{kind}, :f :{f}, :value {value}, :time {time}, :index {index}}}"
            )
            .expect("writing to a string");
        };
        event("invoke", &call, 2 * i, time);
        event("ok", &ret, 2 * i + 1, time + 7);
        let args = match i % 3 {
            0 => String::new(),
            1 => format!(",\"args\":[{value}]"),
            _ => format!(",\"args\":[{value},{}]", i % 5),
        };
        let ret = if i % 3 == 0 { value.to_string() } else { "null".to_string() };
        writeln!(
            json,
            "{{\"process\":{process},\"call\":\"{f}\"{args},\"time\":{time}}}\n{{\"process\":{process},\"return\":{ret}}}"
        )
        .expect("writing to a string");
    }
    fs::write(format!("{folder}/speed.edn"), edn).expect("writing");
    fs::write(format!("{folder}/speed.jsonl"), json).expect("writing");
}
