"""Fetch the files of others that the pages use, from the npm registry: `python -m memex.ui.vendor`.

Each package is pinned by its version and the digest that npm states for it, and each file by its SHA-256. The files
are part of the repository, so neither the build nor the service fetches anything. To move on to a new version,
change the pins here and run the module; it prints the digests that it finds.
"""

import base64
import hashlib
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "static" / "vendor"


@dataclass(frozen=True, slots=True)
class NpmPackage:
    """A package of the npm registry, and those of its files that are kept.

    Attributes:
        name: the name in the registry.
        version: the pinned version.
        integrity: the digest of the package, as `npm view NAME dist.integrity` states it.
        files: by their names here: the path in the package, and the SHA-256 of the file.
    """

    name: str
    version: str
    integrity: str
    files: Mapping[str, tuple[str, str]]


PACKAGES = (
    NpmPackage(
        "htmx.org",
        "4.0.1",
        "sha512-oF7JgXhDW9UXCy/k1ZYFUQgzu/rm19ORWPSPNL91vPluB2PB9+MV55tyQdH/w7o2EAbTYUG5SDW1R60mdkdqGg==",
        {
            "htmx.min.js": (
                "dist/htmx.min.js",
                "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130",
            ),
            "htmx.LICENSE": ("LICENSE", "d3d2456f76414f2456104660ebd65aff1c04cd7966b942bdabd63f3cdb316a38"),
        },
    ),
    NpmPackage(
        "@picocss/pico",
        "2.1.1",
        "sha512-kIDugA7Ps4U+2BHxiNHmvgPIQDWPDU4IeU6TNRdvXQM1uZX+FibqDQT2xUOnnO2yq/LUHcwnGlu1hvf4KfXnMg==",
        {
            "pico.classless.min.css": (
                "css/pico.classless.min.css",
                "61207a40ffc02a42d1e50143651c121beab70ed413c934c1ff84fa263ba436b0",
            ),
            "pico.LICENSE": (
                "LICENSE.md",
                "afaff063e044233f917b7807dccab022f09dca474f92b642846bee4850655bbf",
            ),
        },
    ),
    NpmPackage(
        "uplot",
        "1.6.32",
        "sha512-KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==",
        {
            "uplot.iife.min.js": (
                "dist/uPlot.iife.min.js",
                "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
            ),
            "uplot.min.css": (
                "dist/uPlot.min.css",
                "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
            ),
            "uplot.LICENSE": ("LICENSE", "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd"),
        },
    ),
    NpmPackage(
        "lucide-static",
        "1.62.0",
        "sha512-WBZA/m2PvkFpMGHDtsBck5P2A9G4ehLlYu4GwwICcmEm1BvYVgj00lCDxKRWLlbMlOibLaiwdQ88G5pHkSWgwA==",
        {
            "icons/LICENSE": ("LICENSE", "b495047bd93a9b06913511076f504daba17d5bbeb3e0650f3bb53a4220329c57"),
            "icons/folder.svg": (
                "icons/folder.svg",
                "4019cfd634de38f50f4ecb2f307882c718c2b936be0884f52e8b496c08f25698",
            ),
            "icons/file-text.svg": (
                "icons/file-text.svg",
                "803ac17ca2cc23034af2eaeb8132459c41cc3b956a7adec7cdf4cbe49f9caecc",
            ),
            "icons/history.svg": (
                "icons/history.svg",
                "dc6df8e20ff26bf4a678e2c0a606c2f1d7e61ce222825aff38677b113503e55f",
            ),
            "icons/pencil.svg": (
                "icons/pencil.svg",
                "0da176b08c62ef4106967c6434d6e75da599fb95a18679b1cec8ebfd9bc52435",
            ),
            "icons/trash-2.svg": (
                "icons/trash-2.svg",
                "82df3b123a4e5f97cc0f5df5ba077d6600dd94de792d6f5f4799e54b7251048f",
            ),
            "icons/pin.svg": (
                "icons/pin.svg",
                "6ce4373a04bd13b67101e2fd1be54c50b57552f44418ce8d0a7402eae5fbc332",
            ),
            "icons/pin-off.svg": (
                "icons/pin-off.svg",
                "5e8e6d275e84fd58e6fb24664e29641b7cc20b9eead0638412feb75b4fb4bb00",
            ),
            "icons/link.svg": (
                "icons/link.svg",
                "6f5e005138cb273018e086bc54a12ca0316c98660e879e7a1ebee0b615010548",
            ),
            "icons/search.svg": (
                "icons/search.svg",
                "865065dc5d0251f5199ba6a6642e53b6c289bbe062f3e52390d2b477b5cbbab6",
            ),
            "icons/log-out.svg": (
                "icons/log-out.svg",
                "4449672cfd4ba1a5e8b21bdef6d63dd880f3c2fbe1118faf40cc259bacd58f99",
            ),
            "icons/user.svg": (
                "icons/user.svg",
                "835d5d5155e20823547cbb7836b452dca000d6ff5e027ce115d89d0eebd437f3",
            ),
            "icons/users.svg": (
                "icons/users.svg",
                "33d60984a2daedf2d97cf7cf7b5b4497dff181b7f95506fdd693ae01773bd98f",
            ),
            "icons/eye.svg": (
                "icons/eye.svg",
                "6d18eaf34bef10a430f89713f17ddd8333dea6f53f95df149d02241f055c3110",
            ),
            "icons/git-compare.svg": (
                "icons/git-compare.svg",
                "380d3c0f9de817d02f6d27d93f106220aea59a0c2f1c5913956ae8d0f923ddf1",
            ),
            "icons/undo-2.svg": (
                "icons/undo-2.svg",
                "36886bb4b352db56cdac1611ff2f2c85f1b621002f4dd1022952d6320fb9536a",
            ),
            "icons/plus.svg": (
                "icons/plus.svg",
                "8043bcd468586973c00ca9ebdc76f625c2e0a5927096ff729f3a2fb6b9079279",
            ),
            "icons/chevron-right.svg": (
                "icons/chevron-right.svg",
                "b30a11621e29a1e26538529fd991a8b57345a5f67bd60150e99eebad8fe7fc8b",
            ),
            "icons/book-open.svg": (
                "icons/book-open.svg",
                "d6a3f6d33bd6e0fc19796e23f2b0e2e2f7e7756607bfff35b2ae7d0d5f992e5a",
            ),
            "icons/triangle-alert.svg": (
                "icons/triangle-alert.svg",
                "8fae33ea4b3f26693773ed2545080ffed5bd42aad9b59084a2ea753827c0763c",
            ),
            "icons/clock.svg": (
                "icons/clock.svg",
                "a96f7ac1cfe9f0278e307ffaa1116297e05a7c5a89e96cca4e6e02b1053074f9",
            ),
            "icons/circle-question-mark.svg": (
                "icons/circle-question-mark.svg",
                "75df54d146312a91cfe867abc6d4dc9b0af15d38c8d8892687039a3080b52b7a",
            ),
            "icons/activity.svg": (
                "icons/activity.svg",
                "08b74722708ceb4b32ca09521e7fda2d5862d230e061762944c5c959a941cc35",
            ),
            "icons/list-checks.svg": (
                "icons/list-checks.svg",
                "8f52d9cc1fe7171aa9eaa62f3d36760cee58475fa1cd5758d1dc8b45d1cafa45",
            ),
            "icons/flask-conical.svg": (
                "icons/flask-conical.svg",
                "97b082309f3df6fffdb533915983ff6aa4d971dad06958c6edb86d00daf350bd",
            ),
            "icons/upload.svg": (
                "icons/upload.svg",
                "a9e2bf666bdbb0d3b3a0bd9af3a5a1825ea247a0718bde49c3b3950dfc0fdedf",
            ),
            "icons/download.svg": (
                "icons/download.svg",
                "ee0bac401bab7703f9e4ff944fe047df065b53614a63de1edeedf9598a7d223c",
            ),
            "icons/copy.svg": (
                "icons/copy.svg",
                "6b3ccbc514bedff8a9b86bf8f401c3a2c7347957d25743328d09c758c4f05868",
            ),
            "icons/x.svg": (
                "icons/x.svg",
                "b6d03bbafa39df795f96866a607b2b1581c52bb946cca91e9c630ff9e7b380c0",
            ),
            "icons/check.svg": (
                "icons/check.svg",
                "dd75f2095400934bc2736945541aff36fbcf716db7705bebdd62bc6a8a2cd707",
            ),
            "icons/info.svg": (
                "icons/info.svg",
                "ecb172e55f65117ed1543962b6a0cb662290b98a00aa7134079661f6dd940696",
            ),
            "icons/key-round.svg": (
                "icons/key-round.svg",
                "800e34c5007adf227c797822d110a39ccb78758280b64a3a1df47024d9aa798d",
            ),
            "icons/move-right.svg": (
                "icons/move-right.svg",
                "3f307268ebe1c6d85b978c92f919d1658cff290e977eeeed2021d044f56ca6b9",
            ),
            "icons/message-circle.svg": (
                "icons/message-circle.svg",
                "f860e1d10b921835f47906735523b0bbebbdde7a91b0af00f8f8c8dd90416ec1",
            ),
            "icons/messages-square.svg": (
                "icons/messages-square.svg",
                "cd52e34fd65e4a3d01f1c2116dcfdc780d434702ee0598c48f13962399301af0",
            ),
            "icons/play.svg": (
                "icons/play.svg",
                "a2799f8732418080c1c0cc7dcfe59036cef20fb68191f236c8af163189e84355",
            ),
            "icons/list.svg": (
                "icons/list.svg",
                "f1006ebdd69448e357333d9246075839a0d8618a00317dba8f48dab6ac64f9f8",
            ),
        },
    ),
)


def fetch(package: NpmPackage, folder: Path) -> dict[str, str]:
    """Write the files of a package into a folder, and return their SHA-256.

    Raises:
        ValueError: the registry has another package under this name and version.
    """
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(
            ["npm", "pack", "--silent", f"{package.name}@{package.version}"],
            cwd=scratch,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        [archive] = Path(scratch).glob("*.tgz")
        digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if f"sha512-{digest}" != package.integrity:
            raise ValueError(f"{package.name} {package.version} is another package: sha512-{digest}")
        found = {}
        with tarfile.open(archive) as members:
            for name, (path, _) in package.files.items():
                member = members.extractfile(f"package/{path}")
                if member is None:
                    raise ValueError(f"{package.name} {package.version} has no file {path}")
                content = member.read()
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content)
                found[name] = hashlib.sha256(content).hexdigest()
    return found


def main() -> None:
    """Fetch all packages; end with 1 if a file is not the pinned one."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    is_pinned = True
    for package in PACKAGES:
        for name, sha256 in fetch(package, FOLDER).items():
            is_same = sha256 == package.files[name][1]
            is_pinned &= is_same
            print(f"{sha256}  {name}{'' if is_same else '  is not the pinned file'}")  # noqa: T201
    sys.exit(0 if is_pinned else 1)


if __name__ == "__main__":
    main()
