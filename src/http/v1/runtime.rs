//! `GET /v1/runtime`: images and hardening.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::AppState;
use proofbox_runtime::image::Image;
use proofbox_types::hardening::{Hardened, LayerState};

/// Runtime that snippets run in.
#[derive(Serialize, ToSchema)]
pub(crate) struct RuntimeDescription {
    /// Identifies the interpreter: fuel figures are comparable within one hash.
    image_hash: String,
    /// Version of CPython in the default image.
    python: String,
    packages_hash: String,
    /// Packages beyond the standard library, with their versions.
    packages: BTreeMap<String, String>,
    /// Modules of the standard library that can be imported.
    modules: Vec<String>,
    /// Images that requests can name in `image`, by name or hash.
    images: Vec<ImageDescription>,
    image_bytes: u64,
    /// Linear memory that interpreters of the default image start with; limits.memory_bytes includes it.
    initial_memory_bytes: u64,
    /// Privileges that the service's processes have dropped; empty where hardening is off.
    hardening: HardeningDescription,
}

/// An image, which differs from the others in its packages, or is of another interpreter.
#[derive(Serialize, ToSchema)]
pub(crate) struct ImageDescription {
    /// `default` for the one that requests have which name none.
    names: Vec<String>,
    image_hash: String,
    packages_hash: String,
    /// Packages beyond the standard library, with their versions.
    packages: BTreeMap<String, String>,
    /// Linear memory that its interpreters start with. What it has beyond the default image's is not counted by
    /// limits.memory_bytes.
    initial_memory_bytes: u64,
}

/// Layers of hardening, by process.
#[derive(Serialize, ToSchema)]
pub(crate) struct HardeningDescription {
    /// The process that serves HTTP.
    front: Vec<LayerDescription>,
    /// Layers of the processes that run snippets.
    workers: Vec<LayerDescription>,
}

/// Layer of hardening, with its state.
#[derive(Serialize, ToSchema)]
pub(crate) struct LayerDescription {
    /// no_new_privileges, not_dumpable, capabilities, resource_limits, landlock, seccomp
    layer: &'static str,
    in_force: bool,
    /// Reason why the layer is not in force, or the parts of it that this kernel lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

fn layers(hardened: &Hardened) -> Vec<LayerDescription> {
    let described = |state: &LayerState| LayerDescription {
        layer: state.layer.name(),
        in_force: state.in_force,
        detail: state.detail.clone(),
    };
    hardened.0.iter().map(described).collect()
}

/// Describes the images and the modules and packages that can be imported.
#[utoipa::path(get, path = "/v1/runtime", responses((status = 200, description = "The image in use", body = RuntimeDescription)))]
pub(crate) async fn runtime(State(shared): State<AppState>) -> Json<RuntimeDescription> {
    let images = &shared.service.images;
    let image = Image::clone(images.default());
    let described = |image: &Arc<Image>| ImageDescription {
        names: images.names_of(image).map(str::to_owned).collect(),
        image_hash: image.image_hash.clone(),
        packages_hash: image.packages_hash.clone(),
        packages: image.packages.clone(),
        initial_memory_bytes: image.initial_memory_bytes,
    };
    Json(RuntimeDescription {
        image_hash: image.image_hash,
        python: image.python,
        packages_hash: image.packages_hash,
        packages: image.packages,
        modules: image.modules,
        images: images.all().map(described).collect(),
        image_bytes: image.image_bytes,
        initial_memory_bytes: image.initial_memory_bytes,
        hardening: HardeningDescription {
            front: layers(&shared.service.hardened),
            workers: layers(&shared.service.sandbox.workers().hardened()),
        },
    })
}
