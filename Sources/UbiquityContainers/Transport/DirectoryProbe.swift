package import Foundation
internal import Glibc
internal import Synchronization
package import SystemPackage

/// Asks whether a directory answers, and never waits longer than a limit.
///
/// A file system whose server or FUSE process has stopped blocks every call for as long as that lasts, even for a signal.
/// Each question therefore has a thread of its own, and there is one open question per directory: while it is open,
/// later callers learn at once since when the directory has been silent.
package enum DirectoryProbe {
    /// The answer of a directory.
    package enum Answer: Sendable, Equatable {
        /// It is there; with the facts of its file system, if they can be read.
        case there(FileSystemFacts?)
        /// There is no directory at the path.
        case missing
        /// It cannot be inspected.
        case failed(Errno)
        /// It has not answered since this time.
        case silent(since: Date)
    }

    /// The usual limit of a question.
    package static let limit = Duration.seconds(2)

    private struct Question {
        var asked = Date()
        var isOverdue = false
        var readers: [UUID: CheckedContinuation<Answer, Never>] = [:]
    }

    private static let open = Mutex<[FilePath: Question]>([:])

    /// Asks.
    ///
    /// - Parameters:
    ///   - path: a directory.
    ///   - limit: how long to wait for an answer.
    /// - Returns: the answer; `silent` after the limit.
    package static func ask(_ path: FilePath, within limit: Duration = limit) async -> Answer {
        let reader = UUID()
        let timer = Task {
            guard (try? await Task.sleep(for: limit)) != nil else { return }
            expire(path, reader)
        }
        defer { timer.cancel() }
        return await withCheckedContinuation { continuation in
            let (isNew, silence) = open.withLock { open -> (Bool, Date?) in
                if let question = open[path], question.isOverdue { return (false, question.asked) }
                let isNew = open[path] == nil
                open[path, default: Question()].readers[reader] = continuation
                return (isNew, nil)
            }
            if let silence { continuation.resume(returning: .silent(since: silence)) }
            if isNew { Thread.detachNewThread { answer(path, look(at: path)) } }
        }
    }

    /// Since when a directory has not answered; nil if no question about it is overdue.
    ///
    /// - Parameter path: a directory.
    package static func silence(of path: FilePath) -> Date? { open.withLock { $0[path].flatMap { $0.isOverdue ? $0.asked : nil } } }

    private static func look(at path: FilePath) -> Answer {
        var status = stat()
        guard path.withPlatformString({ stat($0, &status) }) == 0 else {
            let error = Errno(rawValue: errno)
            return error == .noSuchFileOrDirectory ? .missing : .failed(error)
        }
        return status.st_mode & S_IFMT == S_IFDIR ? .there(FileSystemFacts(at: path)) : .missing
    }

    private static func answer(_ path: FilePath, _ answer: Answer) {
        let question = open.withLock { $0.removeValue(forKey: path) }
        for reader in question?.readers.values ?? [:].values { reader.resume(returning: answer) }
    }

    private static func expire(_ path: FilePath, _ reader: UUID) {
        let late = open.withLock { open -> (CheckedContinuation<Answer, Never>, Date)? in
            guard let continuation = open[path]?.readers.removeValue(forKey: reader) else { return nil }
            open[path]!.isOverdue = true
            return (continuation, open[path]!.asked)
        }
        if let (continuation, asked) = late { continuation.resume(returning: .silent(since: asked)) }
    }
}
