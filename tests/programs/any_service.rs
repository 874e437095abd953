//! A service that has nothing to do with HTTP, and a closure that knows what its answers mean.

use std::error::Error;
use std::fmt;

use futures_util::future::join_all;
use tidegate::{Aimd, Answer, Cause, FeedbackLayer, GateLayer, Outcome, Units, chain};
use tokio::sync::Semaphore;
use tokio::time::sleep;
use tower::{ServiceBuilder, ServiceExt};

/// What a database says that can do ten things at once.
#[derive(Debug)]
struct TooManyConnections;

impl fmt::Display for TooManyConnections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too many connections")
    }
}

impl Error for TooManyConnections {}

#[tokio::test(start_paused = true)]
async fn a_limit_follows_the_errors_of_any_service() -> anyhow::Result<()> {
    let connections = Semaphore::new(10);
    let query = async |text: String| {
        let _connection = connections.try_acquire().map_err(|_| TooManyConnections)?;
        sleep(20.ms()).await;
        Ok::<_, TooManyConnections>(text.len())
    };

    let gate = GateLayer::new(1).hold_head();
    let classifier = |answer: Answer<'_, usize>| match answer {
        Ok(_) => Outcome::Success,
        Err(error) if chain(error).any(<dyn Error>::is::<TooManyConnections>) => {
            Outcome::Overload(Cause::Unavailable)
        }
        Err(_) => Outcome::Failure,
    };
    let feedback = FeedbackLayer::new(classifier, Aimd::new(), gate.handle()).hold_head();
    let handle = feedback.handle();
    let stack = ServiceBuilder::new()
        .layer(gate)
        .layer(feedback)
        .service_fn(query);

    let queries = (0..2_000).map(|_| stack.clone().oneshot("select tide".to_owned()));
    let mut failed = 0;
    for rows in join_all(queries).await {
        match rows {
            Ok(rows) => assert_eq!(rows, 11),
            Err(error) => {
                assert!(error.find::<TooManyConnections>().is_some());
                failed += 1;
            }
        }
    }
    assert!((1..100).contains(&failed), "{failed} failed");
    assert!((5..=11).contains(&handle.limit()), "{}", handle.limit());
    assert_eq!(handle.in_flight(), 0);
    Ok(())
}
