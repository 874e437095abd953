//! The example that serves until ctrl-c.

#![cfg(unix)]

use std::io::Read;

use http::StatusCode;

use crate::service::Service;

async fn until(service: &Service, gate: &str) {
    while service.get("/gate").await.2 != gate {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn two_handlers_share_a_gate_and_at_ctrl_c_what_is_under_way_is_answered() {
    let mut service = Service::start("axum_outbound");
    let (status, _, body) = service.get("/users/7").await;
    assert_eq!((status, &*body), (StatusCode::OK, "all about /users/7"));

    // Two reports are two in flight; a user has to wait for them, and another may not.
    let (first, second, waits, ()) = tokio::join!(
        service.get("/report"),
        async {
            until(&service, "1 in flight, 0 waiting").await;
            service.get("/report").await
        },
        async {
            until(&service, "2 in flight, 0 waiting").await;
            service.get("/users/8").await
        },
        async {
            until(&service, "2 in flight, 1 waiting").await;
            let (status, retry_after, body) = service.get("/users/9").await;
            assert_eq!(
                (status, retry_after),
                (StatusCode::SERVICE_UNAVAILABLE, None)
            );
            assert!(body.contains("try again later"), "{body}");
            service.interrupt();
        },
    );
    let report = (StatusCode::OK, None, "a long report".to_owned());
    assert_eq!((&first, &second), (&report, &report));
    assert_eq!(waits.0, StatusCode::SERVICE_UNAVAILABLE);

    let mut told = String::new();
    service.told.read_to_string(&mut told).unwrap();
    assert_eq!(told, "0 left\n");
    assert!(service.child.wait().unwrap().success());
}

#[tokio::test]
async fn above_its_rate_it_says_when_to_come_again() {
    let service = Service::start("axum_outbound");
    let mut answers = Vec::new();
    loop {
        // One may wait at a time: of three at once, one is refused as soon as the burst is used up.
        let paths = ["/users/1", "/users/2", "/users/3", "/users/4"];
        let asked = paths.map(|path| service.get(path));
        answers.extend(futures_util::future::join_all(asked).await);
        let refused = answers.iter().find(|(_, wait, _)| wait.is_some());
        if let Some((status, wait, _)) = refused {
            assert_eq!((*status, *wait), (StatusCode::SERVICE_UNAVAILABLE, Some(1)));
            return;
        }
    }
}
