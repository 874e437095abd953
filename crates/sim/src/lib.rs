//! A deterministic simulator in virtual time for control laws.
