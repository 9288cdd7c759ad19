import CLinux
import Dispatch
import Foundation
import Glibc
import Synchronization
import SystemPackage

@testable import TreeWatching

/// A directory of its own for a test, with a tree to watch and a place beside it.
final class Stage: Sendable {
    let top: FilePath
    var root: FilePath { top.appending("tree") }
    var outside: FilePath { top.appending("outside") }

    /// Where tests run: memory and disk.
    static let places: [FilePath] = ["/dev/shm", "/var/tmp"]

    init(in place: FilePath = "/dev/shm") throws {
        var template = Array(place.appending("tree-watching-XXXXXX").string.utf8CString)
        guard let made = mkdtemp(&template) else { throw ScriptError("mkdtemp in \(place) failed with error \(errno)") }
        top = FilePath(platformString: made)
        for directory in [top.appending("tree"), top.appending("outside")] { mkdir(directory.string, 0o755) }
    }

    func remove() { try? FileManager.default.removeItem(atPath: top.string) }

    /// Performs a command of a script.
    func perform(_ words: [String]) throws {
        func path(_ position: Int) throws -> [CChar] {
            guard words.count > position else { throw ScriptError("a path is missing: \(words)") }
            return bytes(words[position])
        }
        func done(_ result: CInt) throws { if result < 0 { throw ScriptError("\(words): error \(errno)") } }
        switch words[0] {
        case "repeat":
            for number in 0..<Int(words[1])! { try perform(words.dropFirst(2).map { $0.replacing("%", with: "\(number)") }) }
        case "mkdir":
            let whole = try path(1)
            for end in whole.indices where whole[end] == 0x2F || whole[end] == 0 {
                if end > 0, mkdir(Array(whole[..<end]) + [0], 0o755) < 0, errno != EEXIST, errno != EROFS { try done(-1) }
            }
        case "write", "append":
            let fd = open(try path(1), O_WRONLY | O_CREAT | O_CLOEXEC | (words[0] == "write" ? O_TRUNC : O_APPEND), 0o644)
            try done(fd)
            let text = words.count > 2 ? words[2] : "x"
            try done(CInt(Glibc.write(fd, text, text.utf8.count)))
            close(fd)
            awaitClose(try path(1))
        case "truncate": try done(truncate(try path(1), 0))
        case "chmod": try done(chmod(try path(2), mode_t(words[1], radix: 8)!))
        case "mv": try done(rename(try path(1), try path(2)))
        case "exchange": try done(clinux_exchange(AT_FDCWD, try path(1), AT_FDCWD, try path(2)))
        case "link": try done(link(try path(1), try path(2)))
        case "symlink": try done(symlink(words[1], try path(2)))
        case "rm": try done(unlink(try path(1)))
        case "rmtree":
            try FileManager.default.removeItem(
                atPath: words[1] == "." ? root.string : (words[1].hasPrefix("/") ? outside.string : root.string + "/") + words[1])
        default: throw ScriptError("no such command: \(words)")
        }
    }

    /// Waits until no process has a file open for writing.
    ///
    /// A program that another test starts at this moment holds a copy of every descriptor from fork(2) to execve(2), and the kernel reports a
    /// close only when the last copy is closed. A read lease is refused as long as there is one (fcntl(2)).
    private func awaitClose(_ path: [CChar]) {
        let fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard fd >= 0 else { return }
        defer { close(fd) }
        let end = ContinuousClock.now + .seconds(60)
        while fcntl(fd, Self.setLease, F_RDLCK) < 0, errno == EAGAIN, ContinuousClock.now < end { sched_yield() }
        _ = fcntl(fd, Self.setLease, F_UNLCK)
    }

    /// fcntl(2): F_SETLEASE, the kernel's number; glibc shows it under _GNU_SOURCE only.
    private static let setLease: CInt = 1_024

    /// A script's path in full, its escapes replaced.
    private func bytes(_ word: String) -> [CChar] {
        var result = Array((word.hasPrefix("/") ? outside : root).string.utf8)
        if word != "." {
            if !word.hasPrefix("/") { result.append(0x2F) }
            result += ChangeRecorder.unescaped(word)
        }
        return (result + [0]).map { CChar(bitPattern: $0) }
    }

    /// Every path below the root, escaped, with a slash behind directories.
    func paths(excluding: Bool = false) -> Set<String> {
        var result: Set<String> = []
        func descend(_ directory: [UInt8], _ prefix: [UInt8]) {
            var listing = DirectoryListing()
            let path = (directory + [0]).map { CChar(bitPattern: $0) }
            guard (try? FileSystem.list(path, into: &listing) {}) != nil else { return }
            for entry in listing.entries {
                let name = listing.withName(of: entry) { Array($0) }
                result.insert(ChangeRecorder.escaped(prefix + name) + (entry.isDirectory ? "/" : ""))
                if entry.isDirectory { descend(directory + [0x2F] + name, prefix + name + [0x2F]) }
            }
        }
        descend(Array(root.string.utf8), [])
        return excluding ? result.filter { !$0.contains("tmp") } : result
    }
}

/// Keeps what a watcher reports.
final class ChangeRecorder: Sendable {
    private let changes = Mutex<[TreeChange]>([])

    func take(_ batch: TreeChangeBatch) { changes.withLock { $0.append(contentsOf: batch) } }

    var all: [TreeChange] { changes.withLock { $0 } }

    /// The changes as scripts write them, without `ready`.
    func lines(below root: FilePath) -> [String] {
        let prefix = root.string.utf8.count + 1
        var lines: [String] = []
        for change in all where change.kind != .ready {
            let path = change.withPathBytes { Self.escaped(Array($0.dropFirst(prefix))) }
            let source = change.withSourceBytes { Self.escaped(Array($0.dropFirst(prefix))) + " -> " } ?? ""
            let line: String
            switch change.kind {
            case .overflow, .rescanned, .rootBack: line = "\(change.kind)"
            case .rootLost(let loss): line = "rootLost \(loss)"
            default: line = "\(change.kind) \(source)\(path)\(change.isDirectory ? "/" : "")"
            }
            if change.kind == .modified, source.isEmpty, lines.last == line { continue }
            lines.append(line)
        }
        return lines
    }

    static func escaped(_ bytes: [UInt8]) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n") }
        return bytes.map { byte in
            byte == 0x0A ? "\\n" : byte == 0x5C ? "\\\\" : byte < 0x80 ? String(UnicodeScalar(byte)) : "\\x" + String(byte, radix: 16)
        }.joined()
    }

    static func unescaped(_ text: String) -> [UInt8] {
        var result: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == 0x5C, let next = rest.popFirst() else {
                result.append(byte)
                continue
            }
            switch next {
            case 0x6E: result.append(0x0A)
            case 0x78:
                result.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)!)
                rest = rest.dropFirst(2)
            default: result.append(next)
            }
        }
        return result
    }
}

extension TreeWatcher {
    /// Makes the hub's thread wait until the semaphore is signalled.
    func hold() async -> DispatchSemaphore {
        let gate = DispatchSemaphore(value: 0)
        await withCheckedContinuation { continuation in
            hub.post { [identifier] loop in
                continuation.resume()
                // Nobody who fails before he lets go holds up the other watchers of the process for ever.
                _ = gate.wait(timeout: .now() + 600)
                // A helper hands over one event after the other: all of them are here before the first is read.
                loop.runner(identifier)?.synchronise()
            }
        }
        return gate
    }

    /// Does something whose events the watcher reads together: it waits a moment only for the second half of a move.
    func inOne(_ body: () throws -> Void) async rethrows {
        let gate = await hold()
        defer { gate.signal() }
        try body()
    }

    /// What is known below the root, as ``Stage/paths(excluding:)`` writes it.
    func knownPaths() async throws -> Set<String> {
        let prefix = root.string.utf8.count + 1
        return Set(
            try await entries().map { entry in
                entry.withPathBytes { ChangeRecorder.escaped(Array($0.dropFirst(prefix))) } + (entry.isDirectory ? "/" : "")
            })
    }
}
