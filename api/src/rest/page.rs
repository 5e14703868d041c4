//! A page of tasks as it is printed: with `includeArtifacts` every task has the member `artifacts`, also when it is empty,
//! which ProtoJSON on its own would leave out.

use engine::operation::ListedTasks;
use serde::ser::{Serialize, SerializeMap, Serializer};
use wire::Task;

/// Prints a page.
pub(crate) struct Page<'a>(pub(crate) &'a ListedTasks);

impl Serialize for Page<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ListedTasks { response, include_artifacts } = self.0;
        if !include_artifacts {
            return response.serialize(serializer);
        }
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("tasks", &Tasks(&response.tasks))?;
        map.serialize_entry("nextPageToken", &response.next_page_token)?;
        map.serialize_entry("pageSize", &response.page_size)?;
        map.serialize_entry("totalSize", &response.total_size)?;
        map.end()
    }
}

struct Tasks<'a>(&'a [Task]);

impl Serialize for Tasks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Shown))
    }
}

struct Shown<'a>(&'a Task);

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Bare<'a> {
            #[serde(flatten)]
            task: &'a Task,
            artifacts: [(); 0],
        }
        match self.0.artifacts.is_empty() {
            true => Bare { task: self.0, artifacts: [] }.serialize(serializer),
            false => self.0.serialize(serializer),
        }
    }
}
