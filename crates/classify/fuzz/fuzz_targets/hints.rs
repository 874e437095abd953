#![no_main]

#[path = "../../tests/hints/any_bytes.rs"]
mod any_bytes;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| any_bytes::hold(bytes));
