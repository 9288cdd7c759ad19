import FileCoordination
import Foundation
import Synchronization
import Waiting

/// A presenter that notes what it is told of versions.
final class RecordingPresenter: FilePresenter {
    let presentedItemURL: URL?
    private let stream: AsyncStream<String>
    private let continuation: AsyncStream<String>.Continuation

    init(_ url: URL) {
        presentedItemURL = url
        (stream, continuation) = AsyncStream.makeStream()
    }

    /// What it was told, in order; for one reader.
    var messages: LimitedSequence<AsyncStream<String>>.AsyncIterator { stream.limited("a message").makeAsyncIterator() }

    func presentedItemDidGain(_ version: FileVersionIdentifier) async { continuation.yield("gained \(version.rawValue)") }
    func presentedItemDidLose(_ version: FileVersionIdentifier) async { continuation.yield("lost \(version.rawValue)") }
    func presentedItemDidResolveConflict(_ version: FileVersionIdentifier) async { continuation.yield("resolved \(version.rawValue)") }
    func presentedSubitem(at url: URL, didGain version: FileVersionIdentifier) async {
        continuation.yield("\(url.lastPathComponent) gained \(version.rawValue)")
    }
    func presentedSubitem(at url: URL, didLose version: FileVersionIdentifier) async {
        continuation.yield("\(url.lastPathComponent) lost \(version.rawValue)")
    }
    func presentedSubitem(at url: URL, didResolve version: FileVersionIdentifier) async {
        continuation.yield("\(url.lastPathComponent) resolved \(version.rawValue)")
    }
}
