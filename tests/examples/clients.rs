//! Examples that send and end.

use std::fs;
use std::path::Path;

use crate::output;

#[test]
fn reqwest_client_gets_all_pages_and_none_of_them_twice() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages.idx");
    let _ = fs::remove_file(&file);
    let file = [file.to_str().unwrap()];
    let first = output("reqwest_client", &file);
    assert!(first.starts_with("1000 requests in "), "{first}");
    assert!(first.contains(": 1000 succeeded; 1"), "{first}");
    let limit = first.trim_end().rsplit(' ').next().unwrap();
    assert!((2..64).contains(&limit.parse::<u32>().unwrap()), "{first}");
    let second = output("reqwest_client", &file);
    assert!(
        second.contains(": 0 succeeded, 1000 done before; 0 tries"),
        "{second}"
    );
}

#[test]
fn hyper_client_keeps_to_fifty_a_second_whatever_it_sends_again() {
    let told = output("hyper_client", &[]);
    assert!(told.starts_with("60 requests in "), "{told}");
    assert!(told.contains("60 succeeded; 60 tries"), "{told}");
    // Of the first 66 that arrive 6 fail, whichever those are, so that nobody's eight attempts all do.
    assert!(told.contains("\n66 were sent"), "{told}");
    // A burst of ten, and fifty a second. The time is rounded to 10 ms.
    let (_, rest) = told.split_once("requests in ").unwrap();
    let seconds: f64 = rest.split_once('s').unwrap().0.parse().unwrap();
    assert!(seconds + 0.005 >= (66.0 - 10.0) / 50.0, "{told}");
}

#[test]
fn middleware_works_both_ways_round() {
    let told = output("middleware", &[]);
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(
        lines,
        [
            "below the middlewares: 20 answered",
            "above the middlewares: 200 OK",
            "0 refused by the service"
        ]
    );
}
