//! Histories in the notation of Wing and Gong: `Q Enq(5) P1`, `Q Ok() P1`.

use trueline::formats::{self, Format};
use trueline::history::{Builder, Call, History, Part, Position};
use trueline::{Value, spec::Invocation};

/// The text of a history.
pub fn wing_gong(history: &History) -> String {
    let mut text = Vec::new();
    match formats::write(history, Format::WingGong, &mut text) {
        Ok(()) => String::from_utf8(text).expect("texts are written"),
        Err(error) => format!("/* {error} */\n"),
    }
}

/// Converts a history of the harness to one with the names of an object, methods and processes.
pub(crate) fn named(object: &str, history: &History<Invocation, Value>) -> History {
    let operations = history.operations();
    // Each event once: the rank, the operation, and whether it is called.
    let calls = operations.iter().enumerate().map(|(i, o)| (o.call, i, true));
    let returned = operations.iter().enumerate().filter(|(_, o)| !o.is_pending());
    let mut events: Vec<(u32, usize, bool)> =
        calls.chain(returned.map(|(i, o)| (o.returned, i, false))).collect();
    events.sort_unstable();
    let mut builder = Builder::new();
    let part = builder.part(Part { object: Value::text(object), key: Value::Nil });
    let nowhere = Position::default();
    for (_, i, is_call) in events {
        let o = &operations[i];
        let process = Value::text(format!("P{}", history.processes()[o.process as usize]));
        let process = builder.process(&process);
        let told = if is_call {
            let call = Call { method: builder.method(&o.op.method), args: o.op.args.clone() };
            builder.call(process, part, call, nowhere)
        } else {
            builder.returns(process, o.result.clone().unwrap_or_default(), nowhere)
        };
        told.expect("a history that was validated");
    }
    builder.finish()
}
