//! The door: how many are inside, how many enter per second, and when nobody does.
