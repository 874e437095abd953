//! What HTTP/2 says was not processed is sent again, whatever its method.

use bytes::Bytes;
use futures_util::future::join_all;
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tidegate::Budget;
use tidegate_testkit::{Fault, Upstream};
use tower::{Layer, ServiceExt};

use crate::common::{post, retry};

/// Three at once on a connection that is told to go away, with the first one as the last.
#[tokio::test(start_paused = true)]
async fn streams_above_the_last_of_a_go_away_are_sent_again() {
    for (processed, arrivals) in [(true, 5), (false, 6)] {
        let upstream = Upstream::unlimited()
            .script(move |_, nth| (nth == 1).then_some(Fault::GoAway { processed }))
            .start_in_process();
        let client = Client::builder(TokioExecutor::new())
            .retry_canceled_requests(false)
            .http2_only(true)
            .build::<_, Full<Bytes>>(upstream.connector());
        let budget = Budget::new(0.0).reserve(1.0);
        let stack = retry().budget(budget.clone()).layer(client);
        // So that the three find a connection.
        stack.clone().oneshot(post()).await.unwrap();
        for answer in join_all([(); 3].map(|()| stack.clone().oneshot(post()))).await {
            assert_eq!(answer.unwrap().status(), 200);
        }
        let report = upstream.report();
        assert_eq!(
            (report.arrivals, report.executed),
            (arrivals + 1, 4),
            "{report:?}"
        );
        // One for each that was sent again.
        assert_eq!(budget.left().to_string(), (10 - (arrivals - 3)).to_string());
    }
}
