//! A mock upstream that behaves like an overloaded service.
