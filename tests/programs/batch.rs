//! Many requests, with a bar and a summary, taken up again where they were left.

use std::fs;
use std::path::{Path, PathBuf};

use tidegate::batch::{Bar, Batch};
use tidegate_testkit::{Response, Upstream};

use crate::loopback::reqwest_client;

/// A folder of this test, with nothing in it.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("saved");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[tokio::test]
async fn a_batch_fetches_and_saves_each_page_once_however_often_it_is_run() -> anyhow::Result<()> {
    let upstream = Upstream::unlimited()
        .respond(|request| Response::new(200).body(request.uri().path().to_owned()))
        .start()
        .await;
    let folder: &'static Path = Box::leak(folder().into_boxed_path());
    let save = move |index: usize, page: bytes::Bytes| async move {
        fs::write(folder.join(index.to_string()), page)?;
        anyhow::Ok(())
    };
    let stack = reqwest_client().build()?;

    for (first, all) in [(true, 30), (false, 30)] {
        let requests = (0..all).map(|page| stack.get(format!("{}/{page}", upstream.uri())).build());
        let requests = requests.collect::<Result<Vec<_>, _>>()?;

        let summary = Batch::new(stack.clone(), requests)
            .resume_from(folder.join("done.idx"))
            .progress(Bar::new())
            .each(move |index, response| async move { save(index, response?.bytes().await?).await })
            .run()
            .await;
        println!("{summary}");

        let counts = summary.counts;
        let expected = if first { (all, 0) } else { (0, all) };
        assert_eq!((counts.succeeded, counts.skipped), expected);
    }
    assert_eq!(fs::read_to_string(folder.join("17"))?, "/17");
    assert_eq!(upstream.report().served, 30);
    Ok(())
}
