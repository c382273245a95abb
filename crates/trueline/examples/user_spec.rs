//! Specifications of your own: a plain struct for a deterministic object, the full trait for one
//! that is not.
//!
//! `cargo run -p trueline --example user_spec`

use trueline::history::{Builder, Call, History, Position};
use trueline::{Check, Sequential, Spec, Value, Verdict};

/// A bank account: `apply` is all there is to say. Overdrafts are refused.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Account {
    cents: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum AccountOp {
    Deposit(u64),
    Withdraw(u64),
}

impl Sequential for Account {
    type Op = AccountOp;
    /// Whether it was done.
    type Ret = bool;

    fn apply(&mut self, op: &AccountOp) -> bool {
        match op {
            AccountOp::Deposit(cents) => self.cents += cents,
            AccountOp::Withdraw(cents) if *cents <= self.cents => self.cents -= cents,
            AccountOp::Withdraw(_) => return false,
        }
        true
    }
}

/// A ticket machine that may skip one number: several states can follow from one call, so `step`
/// says it all.
struct Tickets;

impl Spec for Tickets {
    /// The next number.
    type State = u64;
    type Op = ();
    type Ret = u64;

    fn initial(&self) -> u64 {
        1
    }

    fn step(&self, next: &u64, (): &(), ret: Option<&u64>, after: &mut Vec<u64>) {
        for number in [*next, next + 1] {
            if ret.is_none_or(|ret| *ret == number) {
                after.push(number + 1);
            }
        }
    }

    fn show(&self, (): &(), ret: Option<&u64>) -> String {
        format!("take() -> {}", ret.map_or("?".into(), u64::to_string))
    }
}

/// A recorded event: process, method, and an argument or a result.
enum Event {
    Call(i64, &'static str, Option<i64>),
    Return(i64, Value),
}

use Event::{Call as Calls, Return as Returns};

pub(crate) fn main() {
    // The second withdrawal begins after the first one is over, yet both get the same 50 cents.
    let recorded = history(vec![
        Calls(0, "deposit", Some(50)),
        Returns(0, true.into()),
        Calls(0, "withdraw", Some(50)),
        Returns(0, true.into()),
        Calls(1, "withdraw", Some(50)),
        Returns(1, true.into()),
    ]);
    let accounts = recorded.decode(|method, args, result| {
        let [Value::Int(cents)] = args else { return Err("expected an amount".into()) };
        let cents = u64::try_from(*cents).map_err(|_| "expected a positive amount")?;
        let op = match method {
            "deposit" => AccountOp::Deposit(cents),
            "withdraw" => AccountOp::Withdraw(cents),
            _ => return Err(format!("expected deposit or withdraw, found {method}").into()),
        };
        Ok((op, result.and_then(Value::as_bool)))
    });
    let verdict = Check::new(Account::default()).run(&accounts.expect("it fits")).verdict;
    report("account", &verdict);
    assert!(verdict.is_violation());

    // The calls overlap, so the tickets may come in any order; 2 was skipped.
    let recorded = history(vec![
        Calls(0, "take", None),
        Calls(1, "take", None),
        Returns(0, 3.into()),
        Returns(1, 1.into()),
    ]);
    let tickets = recorded.decode(|_, _, result| {
        let number = result.and_then(Value::as_int).map(|n| u64::try_from(n).unwrap_or(0));
        Ok(((), number))
    });
    let verdict = Check::new(Tickets).run(&tickets.expect("it fits")).verdict;
    report("tickets", &verdict);
    assert!(verdict.is_linearizable());
}

fn history(events: Vec<Event>) -> History {
    let mut builder = Builder::new();
    let part = builder.part(Default::default());
    for event in events {
        let at = Position::default();
        let done = match event {
            Calls(process, method, arg) => {
                let process = builder.process(&process.into());
                let args: Vec<Value> = arg.into_iter().map(Value::Int).collect();
                let call = Call { method: builder.method(method), args: args.into() };
                builder.call(process, part, call, at)
            }
            Returns(process, result) => {
                let process = builder.process(&process.into());
                builder.returns(process, result, at)
            }
        };
        done.expect("processes alternate calls and returns");
    }
    builder.finish()
}

fn report(name: &str, verdict: &Verdict) {
    match verdict {
        Verdict::Violation(why) => println!("{name}: violation: {}", why.sentence),
        other => println!("{name}: {}", other.name()),
    }
}
