//! The wait for the last to leave.

use std::future::poll_fn;
use std::time::Duration;

use crate::door::Door;

pub(crate) async fn drain(door: &Door, timeout: Duration) -> usize {
    door.close();
    let drained = poll_fn(|context| door.inner().admission.poll_drained(context.waker()));
    match tokio::time::timeout(timeout, drained).await {
        Ok(()) => 0,
        Err(_) => door.in_flight(),
    }
}
