//! The output of Jepsen: EDN, keys in its values, and its logs.

use super::*;

#[track_caller]
fn check_keys(keys: Keys, input: &str, expect: &str) {
    let expect: String = expect.trim().lines().map(|line| format!("{}\n", line.trim())).collect();
    let options = ReadOptions { format: Some(Format::Edn), keys };
    assert_eq!(outcome(input.as_bytes(), &options).trim(), expect.trim());
}

/// Events in EDN from short lines: `0 invoke write 3`.
fn edn(events: &str) -> String {
    let mut out = String::new();
    for event in events.trim().lines() {
        let mut words = event.trim().splitn(4, ' ');
        let mut next = || words.next().unwrap_or_default();
        let (process, kind, f) = (next(), next(), next());
        let value = next();
        let value = if value.is_empty() { String::new() } else { format!(", :value {value}") };
        out += &format!("{{:process {process}, :type :{kind}, :f :{f}{value}}}\n");
    }
    out
}

#[test]
fn edn_reads_writes_and_cas() {
    check(
        Format::Edn,
        &edn(
            "0 invoke write 3\n1 invoke read nil\n0 ok write 3\n1 ok read 3\n1 invoke cas [3 4]\n1 ok cas [3 4]",
        ),
        "0 write(3) @0..2\n1 read() -> 3 @1..3\n1 cas(3, 4) @4..5",
    );
}

#[test]
fn edn_failed_operations_did_not_happen_and_unknown_ones_are_pending() {
    check(
        Format::Edn,
        &edn(
            "0 invoke write 1\n1 invoke write 2\n2 invoke write 3\n0 fail write 1\n1 info write 2\n1 invoke read\n1 ok read 2",
        ),
        "1 write(2) -> ? @0..-\n2 write(3) -> ? @1..-\n1 read() -> 2 @2..3",
    );
}

#[test]
fn edn_a_prefilled_read_has_no_argument() {
    check(Format::Edn, &edn("0 invoke read 5\n0 ok read 5"), "0 read() -> 5 @0..1");
    check(Format::Edn, &edn("0 invoke dequeue 5\n0 ok dequeue nil"), "0 dequeue() @0..1");
}

#[test]
fn edn_an_echo_is_no_result_but_another_value_is() {
    check(Format::Edn, &edn("0 invoke add 5\n0 ok add 5"), "0 add(5) @0..1");
    check(Format::Edn, &edn("0 invoke add 5\n0 ok add"), "0 add(5) @0..1");
    check(Format::Edn, &edn("0 invoke add 5\n0 ok add false"), "0 add(5) -> false @0..1");
    check(Format::Edn, &edn("0 invoke acquire\n0 ok acquire"), "0 acquire() @0..1");
    check(Format::Edn, &edn("0 invoke inc nil\n0 ok inc 7"), "0 inc() -> 7 @0..1");
}

#[test]
fn edn_a_vector_is_one_argument_except_for_cas() {
    check(
        Format::Edn,
        &edn("1 invoke acquire\n0 invoke write [1 2]\n0 ok write [1 2]"),
        "1 acquire() -> ? @0..-\n0 write([1 2]) @1..2",
    );
}

#[test]
fn edn_nemesis_is_no_client() {
    check(
        Format::Edn,
        "{:process :nemesis, :type :info, :f :start}\n{:process :nemesis, :type :invoke, :value {:a #{1}}}\n\
         {:process 0, :type :invoke, :f :read}\n{:process :other, :type :odd}\n",
        "0 read() -> ? @0..-",
    );
}

#[test]
fn edn_in_a_vector_with_comments_tags_and_discards() {
    let maps = "; a note\n{:type :invoke\n  :f :read, :process 0 :time 1.5 :error [:a {:b \"}\"}]}\n\
                #_{:process 1} #jepsen.Op{:process 0, :type :ok, :f :read :value #tag 7} ; end";
    for (open, close) in [("", ""), ("[", "\n]"), ("(\n", "\n)\n")] {
        check(Format::Edn, &format!("{open}{maps}{close}"), "0 read() -> 7 @0..1");
    }
}

#[test]
fn edn_values() {
    let values = "[:a \"a\" sym 1.5 99999999999999999999N \\newline #{2 1} {:k 1} nil true -4N]";
    check(
        Format::Edn,
        &edn(&format!("0 invoke read\n0 ok read {values}")),
        "0 read() -> [\":a\" a sym 1.5 99999999999999999999 \"\\n\" [1 2] [[\":k\" 1]] nil true -4] @0..1",
    );
}

#[test]
fn edn_errors() {
    let check = |input: &str, expect: &str| check(Format::Edn, input, expect);
    check(
        "",
        "no operations: expected a map such as {:process 0, :type :invoke, :f :read, :value nil}",
    );
    check(
        "; nothing",
        "no operations: expected a map such as {:process 0, :type :invoke, :f :read, :value nil}",
    );
    check(
        "[]",
        "no operations: expected a map such as {:process 0, :type :invoke, :f :read, :value nil}",
    );
    check(
        &edn("0 ok read 1"),
        "1:1: process 0 returns without an open call: expected a call first",
    );
    check(
        &edn("0 info read"),
        "1:1: process 0 ends with an unknown outcome without an open call: expected a call first",
    );
    check(
        &edn("0 invoke read\n0 invoke read"),
        "2:1: process 0 calls read while its call of read in line 1 is still open: expected its return first",
    );
    check(
        &edn("0 invoke read\n0 ok write 1"),
        "2:1: found the end of a write: expected that of the read which the process called",
    );
    check(
        "{:process 0, :type :invoke}",
        "1:1: found a map without :f: expected :process, :type and :f",
    );
    check(
        "{:type :invoke, :f :read}",
        "1:1: found a map without :process: expected :process, :type and :f",
    );
    check(
        "{:process 0, :f :read}",
        "1:1: found a map without :type: expected :process, :type and :f",
    );
    check(
        "\n {:process 0, :type :start, :f :read}",
        "2:21: found `:start`: expected :invoke, :ok, :fail or :info",
    );
    check(
        "{:process 99999999999999999999, :type :invoke, :f :read}",
        "1:11: found `99999999999999999999`: expected the number of a process",
    );
    check(
        "{:process nil, :type :invoke, :f :read}",
        "1:11: found `nil`: expected the number of a process",
    );
    check("{:process 0 :process 1}", "1:13: found :process twice: expected it once in a map");
    check(
        "{:process 0, :type :invoke, :f 5}",
        "1:32: found `5`: expected the name of an operation, such as :read",
    );
    check("{:process 0, :type :invoke", "1:27: found the end of the input: expected a key or `}`");
    check("{:process 0, :type}", "1:19: found `}`: expected a value");
    check("[{:process :a}\n", "2:1: found the end of the input: expected a map or `]`");
    check("[] {}", "1:4: found `{}`: expected nothing behind the closing bracket");
    check(
        "hello",
        "1:1: found `hello`: expected a map such as {:process 0, :type :invoke, :f :read}",
    );
    check(&edn("0 invoke write \"abc"), "1:47: found `\"abc}`: expected a closing quote");
    check(&edn("0 invoke cas 5"), "1:1: found a cas of 5: expected [old new]");
    let elle = "1:1: found a transaction: this is a transactional history (Elle's), which trueline does not check; \
                expected operations of one object";
    check(&edn("0 invoke txn [[:r 1 nil]]"), elle);
    check(&edn("0 invoke apply [[:r 1 nil] [:append 2 3]]"), elle);
}

#[test]
fn keys_are_found_where_every_value_carries_one() {
    let keyed = edn(
        "0 invoke write [1 5]\n1 invoke cas [2 [3 4]]\n0 ok write [1 5]\n1 ok cas [2 [3 4]]\n0 invoke read [2 nil]\n\
         0 ok read [2 4]\n1 invoke read [2 nil]\n1 info read [2 nil]",
    );
    let split = "0 key 1 write(5) @0..2\n1 key 2 cas(3, 4) @1..3\n0 key 2 read() -> 4 @4..5\n1 key 2 read() -> ? @6..-";
    check_keys(Keys::Auto, &keyed, split);
    check_keys(Keys::Yes, &keyed, split);
    check_keys(
        Keys::No,
        &keyed,
        "0 write([1 5]) @0..2\n1 cas(2, [3 4]) @1..3\n0 read() -> [2 4] @4..5\n1 read() -> ? @6..-",
    );
}

#[test]
fn keys_are_put_back_where_a_later_value_has_none() {
    // Every value but the last could carry a key.
    let events = edn(
        "0 invoke write [1 5]\n0 ok write [1 5]\n1 invoke read [1 nil]\n1 ok read [1 2]\n0 invoke write [3 nil]\n\
         0 ok write [3 4]\n1 invoke cas [1 [2 3]]\n1 ok cas [1 [2 3]]\n0 invoke read nil\n0 ok read [1 5]",
    );
    let plain = "0 write([1 5]) @0..1\n1 read() -> [1 2] @2..3\n0 write([3 nil]) -> [3 4] @4..5\n\
                 1 cas(1, [2 3]) @6..7\n0 read() -> [1 5] @8..9";
    check_keys(Keys::Auto, &events, plain);
    check_keys(Keys::No, &events, plain);
    check_keys(
        Keys::Yes,
        &events,
        "9:1: found the value nil: expected [key value], as every value carries a key",
    );
}

#[test]
fn keys_are_not_taken_from_a_bare_cas() {
    check_keys(Keys::Auto, &edn("0 invoke cas [1 2]\n0 ok cas [1 2]"), "0 cas(1, 2) @0..1");
    check_keys(
        Keys::Yes,
        &edn("0 invoke cas [1 2]"),
        "1:1: found the value [1 2]: expected [key [old new]], as every value carries a key",
    );
    check_keys(
        Keys::Yes,
        &edn("0 invoke read [1 nil]\n0 ok read [2 nil]"),
        "2:1: found the value [2 nil]: expected [1 ...], the key of the call and a value",
    );
    check_keys(
        Keys::Auto,
        &edn("0 invoke read [1 nil]\n0 ok read [2 nil]"),
        "0 read() -> [2 nil] @0..1",
    );
}

#[test]
fn edn_kv_makes_the_key_an_argument() {
    check(
        Format::EdnKv,
        "{:process 0, :type :invoke, :f :put, :key \"k\", :value \"a\"}\n{:process 0, :type :ok, :f :put, :key \"k\", :value \"a\"}\n\
         {:process 1, :type :invoke, :f :get, :key \"k\", :value nil}\n{:process 1, :type :ok, :f :get, :key \"k\", :value \"\"}\n",
        "0 put(k, a) @0..1\n1 get(k) -> \"\" @2..3",
    );
    check(
        Format::EdnKv,
        &edn("0 invoke get"),
        "1:1: found a map without :key: expected :process, :type, :f and :key",
    );
}

#[test]
fn jepsen_log_skips_other_text() {
    check(
        Format::JepsenLog,
        "starting up: 5 nodes\nINFO  jepsen.util - 0\t:invoke\t:cas\t[1 2]\nINFO  jepsen.util - :nemesis\t:info\t:start\tnil\n\
         INFO  jepsen.util - 1   :invoke :read   nil\nINFO  jepsen.util - 0\t:info\t:cas\t:timed-out\n\nINFO  jepsen.util - 1\t:ok\t:read\t4",
        "0 cas(1, 2) -> ? @0..-\n1 read() -> 4 @1..2",
    );
    check(
        Format::JepsenLog,
        "no log",
        "no operations: expected a line such as `0 :invoke :read nil`, with tabs between",
    );
    check(
        Format::JepsenLog,
        "x 0\t:invoke\t:read\t[1",
        "1:21: found the end of the input: expected a value or `]`",
    );
    check(
        Format::JepsenLog,
        "99999999999999999999 :invoke :read",
        "1:1: found a process beyond 64 bits: expected a number",
    );
}
