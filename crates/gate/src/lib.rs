//! A tower layer that limits how many requests are in flight.
