internal import CLinux
internal import Dispatch
package import Foundation
internal import Glibc
internal import Synchronization
package import SystemPackage

/// Asks whether a directory answers, and waits no longer than a limit of time in which the process runs.
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
        /// Whether its thread runs: before that nobody has asked the directory.
        var hasBegun = false
        var isOverdue = false
        var readers: [UUID: @Sendable (Answer) -> Void] = [:]
    }

    private struct State {
        var open: [FilePath: Question] = [:]
        /// The directories on disks of this machine, which always answer, as of the last change of a mount.
        var local: Set<FilePath> = []
        /// The number of changes of a mount that were noticed.
        var generation = 0
        /// `/proc/self/mountinfo`, which poll(2) reports at each change of a mount (proc(5)); nil before the first use.
        var mounts: Int32?
    }

    private static let state = Mutex(State())

    /// The rest of a reader's limit.
    ///
    /// Time in which a busy machine does not let this process run is not the directory's silence. A step counts once,
    /// however late the reader goes on after it, and hardly while the question has not reached the directory.
    private struct Patience {
        static let step = Duration.milliseconds(50)
        private var rest: Duration

        init(_ limit: Duration) { rest = limit }

        var lasts: Bool { rest > .zero }

        mutating func spend(hasBegun: Bool) { rest -= hasBegun ? Self.step : Self.step / 10 }
    }

    private static func hasBegun(_ path: FilePath) -> Bool { state.withLock { $0.open[path]?.hasBegun ?? true } }

    /// Asks.
    ///
    /// - Parameters:
    ///   - path: a directory.
    ///   - limit: how long to wait for an answer.
    /// - Returns: the answer; `silent` after the limit.
    package static func ask(_ path: FilePath, within limit: Duration = limit) async -> Answer {
        let reader = UUID()
        let timer = Task {
            var patience = Patience(limit)
            while patience.lasts {
                guard (try? await Task.sleep(for: Patience.step)) != nil else { return }
                patience.spend(hasBegun: hasBegun(path))
            }
            expire(path, reader)
        }
        defer { timer.cancel() }
        return await withCheckedContinuation { continuation in enter(path, reader) { continuation.resume(returning: $0) } }
    }

    /// Since when a directory has not answered; asks it, unless it lies on a disk of this machine.
    ///
    /// - Parameters:
    ///   - path: a directory.
    ///   - limit: how long to wait for an answer. Blocks for so long, and for up to ten times as long while the thread that
    ///     asks does not get to run.
    /// - Returns: nil if it answers, whatever the answer is.
    package static func silence(of path: FilePath, within limit: Duration = limit) -> Date? {
        let isLocal = state.withLock { state in
            noteMounts(&state)
            return state.local.contains(path)
        }
        if isLocal { return nil }
        let reader = UUID()
        let answer = AnswerBox()
        let done = DispatchSemaphore(value: 0)
        enter(path, reader) { found in
            answer.value.withLock { $0 = found }
            done.signal()
        }
        var patience = Patience(limit)
        while patience.lasts {
            if done.wait(timeout: .now() + Patience.step / .seconds(1)) == .success { break }
            patience.spend(hasBegun: hasBegun(path))
        }
        if !patience.lasts {
            expire(path, reader)
            done.wait()
        }
        guard case .silent(let since) = answer.value.withLock({ $0 }) else { return nil }
        return since
    }

    /// Waits until a directory answers, or the task is cancelled; returns at once if no question about it is overdue.
    ///
    /// - Parameter path: a directory.
    package static func answer(of path: FilePath) async {
        let reader = UUID()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = state.withLock { state in
                    guard !Task.isCancelled, state.open[path]?.isOverdue == true else { return false }
                    state.open[path]!.readers[reader] = { _ in continuation.resume() }
                    return true
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.open[path]?.readers.removeValue(forKey: reader) }?(.missing)
        }
    }

    /// Adds a reader of the answer, and asks unless somebody has asked already.
    private static func enter(_ path: FilePath, _ reader: UUID, _ read: @escaping @Sendable (Answer) -> Void) {
        let (isNew, silence) = state.withLock { state -> (Bool, Date?) in
            if let question = state.open[path], question.isOverdue { return (false, question.asked) }
            let isNew = state.open[path] == nil
            state.open[path, default: Question()].readers[reader] = read
            return (isNew, nil)
        }
        if let silence { read(.silent(since: silence)) }
        guard isNew else { return }
        Thread.detachNewThread {
            // A mount that comes between here and the answer makes the answer old.
            let generation = state.withLock { state in
                noteMounts(&state)
                state.open[path]?.hasBegun = true
                return state.generation
            }
            let answer = look(at: path)
            let question = state.withLock { state in
                if case .there(let facts?) = answer, facts.network == nil, !facts.isFUSE {
                    noteMounts(&state)
                    if state.generation == generation { state.local.insert(path) }
                }
                return state.open.removeValue(forKey: path)
            }
            for read in question?.readers.values ?? [:].values { read(answer) }
        }
    }

    /// Forgets which directories lie on disks of this machine, if a mount has changed.
    private static func noteMounts(_ state: inout State) {
        let isFirst = state.mounts == nil
        if isFirst { state.mounts = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC) }
        var mounts = pollfd(fd: state.mounts!, events: Int16(POLLPRI), revents: 0)
        // Without the file nothing reports a mount, so nothing is known for longer than one question.
        guard mounts.fd < 0 || isFirst || poll(&mounts, 1, 0) != 0 else { return }
        state.local = []
        state.generation += 1
    }

    private final class AnswerBox: Sendable {
        let value = Mutex<Answer?>(nil)
    }

    private static func look(at path: FilePath) -> Answer {
        var status = stat()
        guard path.withPlatformString({ stat($0, &status) }) == 0 else {
            let error = Errno(rawValue: errno)
            return error == .noSuchFileOrDirectory ? .missing : .failed(error)
        }
        return status.st_mode & S_IFMT == S_IFDIR ? .there(FileSystemFacts(at: path)) : .missing
    }

    /// Ends the wait of a reader, if its question is still open.
    private static func expire(_ path: FilePath, _ reader: UUID) {
        let late = state.withLock { state -> (read: @Sendable (Answer) -> Void, asked: Date)? in
            guard let read = state.open[path]?.readers.removeValue(forKey: reader) else { return nil }
            state.open[path]!.isOverdue = true
            return (read, state.open[path]!.asked)
        }
        if let late { late.read(.silent(since: late.asked)) }
    }
}
