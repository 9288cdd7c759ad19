import Foundation
import Glibc
import SystemPackage
import UbiquityContainers

/// The file of a device home that leads this user's browser to the page.
///
/// An address on a command line can be read by every user, so a browser gets the name of a file that only this user can read.
///
/// The server that has written it holds a lock, so a file that a crash has left is told from one that leads somewhere.
struct PageFile: Sendable {
    let path: FilePath
    private let lockPath: FilePath

    init(home: DeviceHome) { (path, lockPath) = (home.path.appending("pane.html"), home.path.appending("pane.lock")) }

    /// Makes this server the one whose page the file leads to; nil if another one is.
    func lock() throws(Errno) -> FileLock? { try FileLock.ifFree(lockPath) }

    /// Writes the file; the caller has the lock.
    func write(_ address: String) throws {
        let html = """
            <!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">
            <meta http-equiv="refresh" content="0; url=\(address)"><title>Ubiquity</title></head>
            <body><p><a href="\(address)">Open the page</a></p></body></html>
            """
        let draft = path.removingLastComponent().appending(".pane-\(getpid()).nosync")
        let file = try FileDescriptor.open(draft, .writeOnly, options: [.create, .exclusiveCreate, .noFollow], permissions: .ownerReadWrite)
        try file.closeAfter { _ = try file.writeAll(Array(html.utf8)) }
        guard rename(draft.string, path.string) == 0 else {
            let code = errno
            unlink(draft.string)
            throw Errno(rawValue: code)
        }
    }

    /// Removes the file; the caller has the lock.
    func remove() { unlink(path.string) }

    /// Opens it in the browser of this desktop; returns false if that is not possible.
    func open() async -> Bool { await PageCommand.run(["xdg-open", path.string]).isDone }
}
