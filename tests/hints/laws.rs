//! Beside a law.

use tidegate::{GovernorLayer, HttpClassifier, ProberLayer, Profile, RefusedReason, Units};
use tower::{Layer, ServiceExt};

use crate::{Server, answer, get};

#[tokio::test(start_paused = true)]
async fn a_success_that_was_the_last_pauses_a_governor_without_a_cut_and_before_any_refusal() {
    let server = Server::new();
    let governor = GovernorLayer::new(HttpClassifier::default())
        .start(8)
        .hints(Profile::Ietf);
    let handle = governor.handle();
    let service = governor.layer(server.service(|_, nth| {
        let spent = [("ratelimit", r#""default";r=0;t=30"#)];
        let headers: &[_] = if nth == 0 { &spent } else { &[] };
        (1.ms(), answer(200, headers))
    }));
    service.clone().oneshot(get("/")).await.unwrap();
    assert_eq!(handle.limit(), 8);
    service.clone().oneshot(get("/")).await.unwrap();
    let sent = server.sends()[1];
    assert!(sent >= 30.s() && sent <= 30.s() + 127.ms(), "{sent:?}");
}

#[tokio::test(start_paused = true)]
async fn a_prober_that_is_told_ten_minutes_refuses_at_once_with_the_hint() {
    let server = Server::new();
    let prober = ProberLayer::new(HttpClassifier::default()).hints(Profile::Ietf);
    let throttled = || answer(429, &[("retry-after", "600")]);
    let service = prober.layer(server.service(move |_, _| (1.ms(), throttled())));
    service.clone().oneshot(get("/")).await.unwrap();
    let error = service.oneshot(get("/")).await.unwrap_err();
    let refused = error.refused().unwrap();
    let longest = 60.s();
    assert_eq!(refused.reason, RefusedReason::Paused { longest });
    assert_eq!(refused.retry_after, Some(600.s()));
    assert_eq!(server.sends().len(), 1);
}
