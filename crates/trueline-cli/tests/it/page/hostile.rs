//! Strings of a history never become markup, and its size never stops the page.

use super::browser::Browser;
use crate::common::Folder;

/// A register whose read returns what was not written: the process, the value written and the value
/// read.
fn history(process: &str, written: &str, read: &str) -> String {
    format!(
        "{{\"process\":\"{process}\",\"call\":\"write\",\"args\":[\"{written}\"]}}\n\
         {{\"process\":\"{process}\",\"return\":null}}\n\
         {{\"process\":\"{process}\",\"call\":\"read\"}}\n\
         {{\"process\":\"{process}\",\"return\":\"{read}\"}}\n"
    )
}

/// Opens the page of this history, selects an operation, and looks at all that is on the page.
fn looked_at(history: String, flags: &str) -> Option<(String, String)> {
    let f = Folder::new().with("h.jsonl", history);
    let run = f.run(&format!("check h.jsonl {flags} --html h.html"));
    assert_eq!(run.code, 1, "{run:?}");
    let page = std::fs::read_to_string(f.path().join("h.html")).unwrap();
    let mut browser = Browser::start(f.path())?;
    browser.open(&f.path().join("h.html"), "");
    browser.press("n");
    assert_eq!(
        browser.eval(
            "document.images.length + document.querySelectorAll('iframe, object, style').length"
        ),
        1
    );
    assert_eq!(browser.view("selected"), 0.0);
    browser.click("#save");
    let text = browser.text("#page");
    browser.assert_quiet();
    Some((page, text))
}

#[test]
fn markup_stays_text() {
    let nasty = "</script><img src=x onerror=alert(1)><!--<style>*{display:none}";
    let Some((page, text)) = looked_at(history(nasty, nasty, "${alert(1)}`"), "--spec register")
    else {
        return;
    };
    assert_eq!(page.matches("</script>").count(), 2, "the two elements of the page itself");
    assert_eq!(page.matches("<img").count(), 0);
    assert!(text.contains(nasty), "{text}");
}

#[test]
fn characters_that_do_not_show_are_spelled_out() {
    // An end of the text direction, an escape sequence, a null byte, and ends of lines of
    // JavaScript.
    let history = history("p\\u202eq", "a\\u0000\\u001b[31m", "\\u2028\\u2029\\u2066x\\ufeff");
    let Some((page, text)) = looked_at(history, "--spec register") else { return };
    assert!(!page.contains(['\u{202e}', '\u{2028}', '\u{2029}', '\u{2066}', '\u{1b}', '\0']));
    assert!(!text.contains(['\u{202e}', '\u{2028}', '\u{2066}', '\u{1b}', '\0']), "{text}");
    assert!(text.contains("u{202e}"), "{text}");
}

#[test]
fn values_of_a_megabyte_are_cut() {
    let long = "x".repeat(1_000_000);
    let Some((page, text)) = looked_at(history("p", &long, &format!("{long}y")), "--spec register")
    else {
        return;
    };
    assert!(page.len() < 200_000, "{}", page.len());
    assert!(text.len() < 100_000, "{}", text.len());
}

#[test]
fn a_hundred_thousand_processes_are_shown_in_part() {
    let mut history = String::new();
    for i in 0..100_000 {
        history += &format!("{{\"process\":\"p{i}\",\"call\":\"enq\",\"args\":[{i}]}}\n");
        history += &format!("{{\"process\":\"p{i}\",\"return\":null}}\n");
    }
    history += "{\"process\":\"last\",\"call\":\"deq\"}\n{\"process\":\"last\",\"return\":7}\n";
    let Some((_, text)) = looked_at(history, "--spec queue") else { return };
    assert!(text.contains("Shown: 10,00"), "{}", text.chars().take(2000).collect::<String>());
}
