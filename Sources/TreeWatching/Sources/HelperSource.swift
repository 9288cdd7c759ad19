import CLinux
import Glibc
import SystemPackage

/// Raw events of libinotifytools, from the helper program `inotifytools-source`.
///
/// Requests go to the helper's standard input, answers and events come from its standard output in one ordered stream, so that an answer comes after
/// the events that were raised before it. A message is a little-endian 32-bit length and kind, then the content; what the helper's side does stands in
/// its own source. Directories are listed here, not by the helper.
final class HelperSource: TreeEventSource {
    init(helper: FilePath) throws(TreeWatchingError) { throw .init(.sourceFailed, "the helper is not there yet") }
    var descriptor: CInt { -1 }
    func addWatch(_ path: UnsafePointer<CChar>, mask: UInt32) throws(Errno) -> Int32 { throw .noSuchProcess }
    func removeWatch(_ watch: Int32) -> Bool { false }
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(TreeWatchingError) -> Int { 0 }
    func synchronise() {}
    func list(_ path: UnsafePointer<CChar>, into listing: inout DirectoryListing, pause: () -> Void) throws(Errno) {}
    func status(of path: UnsafePointer<CChar>, followingLinks: Bool) throws(Errno) -> EntryStatus { throw .noSuchProcess }
    func close() {}
}
