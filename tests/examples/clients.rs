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
    let line = told.lines().last().unwrap();
    let numbers: Vec<usize> = line
        .split(' ')
        .filter_map(|word| word.parse().ok())
        .collect();
    // What a timer that is late holds up comes on top: 2 ms of it are made good at a time.
    assert!(numbers[0] >= 60 && numbers[1] <= 60 + 2, "{line}");
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
