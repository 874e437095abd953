use std::fmt;
use std::mem;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use http::{HeaderMap, StatusCode};
use tidegate_admission::Door;
use tidegate_classify::{Hints, Profile, Wait};
use tidegate_core::Pace;

use crate::{Law, Wish};

/// Hears what each response says about the limits of its service, and does it at a door.
///
/// It moves the door's limit and pace while a quota asks for less. Who moves them by hand meanwhile
/// moves what holds as long as no quota asks for less.
pub struct Listener {
    door: Door,
    profile: Profile,
    /// Whether quotas move the limit and the pace, or only pause.
    moves: bool,
    state: Mutex<State>,
    /// A success that says nothing means something too.
    heeds_silence: AtomicBool,
}

struct State {
    law: Law,
    told: Told,
    /// Somebody is telling the door.
    is_telling: bool,
    /// It has to be told again.
    again: bool,
}

/// What the door was told last, and what it would be without.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    limit: Option<usize>,
    own_limit: usize,
    pace: Option<Pace>,
    own_pace: Option<Pace>,
}

impl Listener {
    /// Moves this door by what a service of that profile says.
    pub fn new(door: Door, profile: Profile) -> Self {
        Self {
            door,
            profile,
            moves: true,
            state: Mutex::new(State {
                law: Law::new(profile),
                told: Told::default(),
                is_telling: false,
                again: false,
            }),
            heeds_silence: AtomicBool::new(false),
        }
    }

    /// Only pauses, and only when the service asks for it: where something else moves limit and pace.
    #[must_use]
    pub fn only_pausing(self) -> Self {
        Self {
            moves: false,
            ..self
        }
    }

    /// A response with this head was received, and its request is still counted inside the door.
    pub fn hear(&self, status: StatusCode, headers: &HeaderMap) {
        let hints = Hints::parse(headers, wall_clock(), self.profile);
        let is_silent = hints == Hints::default();
        // Nothing is heard from most services most of the time.
        if is_silent && status.is_success() && !self.heeds_silence.load(Relaxed) {
            return;
        }
        let now = now();
        let others = self.door.in_flight().saturating_sub(1);
        let mut state = self.lock();
        let wait = state.law.on_response(now, others, status, &hints);
        if self.moves && !state.is_telling {
            state.is_telling = true;
            self.tell(state, now);
        } else {
            state.again = state.is_telling;
            self.heed(&state);
            drop(state);
        }
        let is_heeded = |wait: &Wait| self.moves || matches!(wait, Wait::Said(_));
        if let Some(wait) = wait.filter(is_heeded) {
            self.pause(now, wait);
        }
    }

    /// A limit may have to be raised again, or a row of refusals is over.
    fn heed(&self, state: &State) {
        let heeds = state.told.limit.is_some() || state.law.awaits_success();
        self.heeds_silence.store(heeds, Relaxed);
    }

    fn pause(&self, now: Instant, wait: Wait) {
        let source = match wait {
            Wait::Said(_) => "service",
            Wait::Invented(_) => "invented",
        };
        let wait = wait.duration();
        tracing::debug!(source, ?wait, "a pause");
        let until = now.checked_add(wait);
        // What is past the end of the clock.
        let until = until.or_else(|| now.checked_add(Duration::from_secs(365 * 86_400)));
        if let Some(until) = until {
            self.door.cool_down_until(until);
        }
    }

    /// The door wakes those who wait: not under the lock.
    fn tell<'a>(&'a self, mut state: MutexGuard<'a, State>, now: Instant) {
        let teller = Teller(self);
        loop {
            state.again = false;
            let (wish, told) = (state.law.wish(now), state.told);
            drop(state);
            let told = told.and_now(wish, &self.door);
            state = self.lock();
            state.told = told;
            self.heed(&state);
            if !state.again {
                break;
            }
        }
        state.is_telling = false;
        mem::forget(teller);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// If a waker panics, the next one may tell the door.
struct Teller<'a>(&'a Listener);

impl Drop for Teller<'_> {
    fn drop(&mut self) {
        self.0.lock().is_telling = false;
    }
}

impl Told {
    fn and_now(mut self, wish: Wish, door: &Door) -> Self {
        let there = door.limit();
        if self.limit != Some(there) {
            self.own_limit = there;
        }
        let limit = wish
            .limit
            .map(|limit| limit.max(1))
            .filter(|limit| *limit < self.own_limit);
        if limit.unwrap_or(self.own_limit) != there {
            door.by_law().set_limit(limit.unwrap_or(self.own_limit));
        }
        self.limit = limit;

        let there = door.pace();
        if self.pace.is_none() || self.pace != there {
            self.own_pace = there;
        }
        let pace = wish.pace.map(|pace| match self.own_pace {
            Some(own) => own.slower_of(pace),
            None => pace,
        });
        if pace.is_some() && pace != there {
            door.by_law().set_pace(pace);
        }
        self.pace = pace;
        self
    }
}

/// The one place where this crate reads tokio's clock, which tests can pause.
#[expect(clippy::disallowed_methods, reason = "the clock of this shell")]
fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

#[expect(
    clippy::disallowed_methods,
    reason = "dates are those of the wall clock; it counts only if a response has no `Date`"
)]
fn wall_clock() -> SystemTime {
    SystemTime::now()
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener")
            .field("profile", &self.profile)
            .field("door", &self.door)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::HeaderValue;
    use tidegate_core::per_second;

    use super::*;

    fn hear(listener: &Listener, limit: &str) {
        let mut headers = HeaderMap::new();
        if !limit.is_empty() {
            let policy = HeaderValue::from_static(r#""a";q=60;w=60"#);
            headers.insert("ratelimit-policy", policy);
            let field = format!(r#""a";r={limit};t=50"#);
            headers.insert("ratelimit", HeaderValue::try_from(field).unwrap());
        }
        listener.hear(StatusCode::OK, &headers);
    }

    #[tokio::test(start_paused = true)]
    async fn the_limit_is_what_remains_until_the_reset_and_then_what_it_was_or_was_moved_to() {
        let door = Door::new("gate", 10);
        let listener = Listener::new(door.clone(), Profile::Ietf);
        for (remaining, limit) in [("30", 10), ("7", 7), ("8", 7), ("1", 1)] {
            hear(&listener, remaining);
            assert_eq!(door.limit(), limit, "{remaining}");
        }
        door.set_limit(20);
        hear(&listener, "1");
        assert_eq!(door.limit(), 1);
        tokio::time::advance(Duration::from_secs(51)).await;
        hear(&listener, "");
        assert_eq!(door.limit(), 20);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pace_is_never_faster_than_the_users_and_comes_back_to_it_by_hand() {
        let door = Door::new("gate", 10);
        door.set_pace(Some(per_second(0.5)));
        let listener = Listener::new(door.clone(), Profile::Ietf);
        hear(&listener, "30");
        assert_eq!(door.pace(), Some(per_second(0.5)));
        door.set_pace(Some(per_second(50.0).burst(5)));
        hear(&listener, "30");
        assert_eq!(door.pace(), Some(per_second(1.0).burst(5)));
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_only_pauses_leaves_limit_and_pace() {
        let door = Door::new("gate", 10);
        let listener = Listener::new(door.clone(), Profile::Ietf).only_pausing();
        for _ in 0..3 {
            listener.hear(StatusCode::TOO_MANY_REQUESTS, &HeaderMap::new());
        }
        hear(&listener, "1");
        assert_eq!(
            (door.limit(), door.pace(), door.paused_until()),
            (10, None, None)
        );
        hear(&listener, "0");
        assert!(door.paused_until().is_some());
    }
}
