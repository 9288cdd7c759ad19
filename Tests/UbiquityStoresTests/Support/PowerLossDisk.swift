import Foundation
import Synchronization
import SystemPackage
import UbiquityContainers
import UbiquityTesting

/// Everything that is done to the files below a directory, in order, so that any moment of it can be brought back as a power cut would leave it.
///
/// What is kept is what POSIX promises: a file's content up to its last sync, and the names in a directory up to the last sync of that.
/// Whatever came later may be there, in any part (Pillai et al., "All File Systems Are Not Created Equal", 2014).
final class PowerLossDisk: Sendable {
    /// One thing that is done.
    ///
    /// Files are numbered, since their names change.
    enum Event: Sendable {
        case create(Int, String)
        case write(Int, at: Int, [UInt8])
        case truncate(Int, to: Int)
        case sync(Int)
        case makeDirectory(String)
        case rename(String, to: String)
        case remove(String)
        case syncDirectory(String)
    }

    /// What remains of what was not synced.
    enum Remainder: Sendable, Hashable {
        /// Nothing: the disk wrote only what it was told to.
        case nothing
        /// Everything: it was quick. This is what another program sees at that moment, too.
        case everything
        /// Some of it, writes also in part; what follows from the seed.
        case some(seed: UInt64)
    }

    let root: String

    private struct State {
        var events: [Event] = []
        /// The numbers of the files, by path.
        var numbers: [String: Int] = [:]
        var next = 0
        var isRecording = false
        var initial = Image()
    }

    private let state = Mutex(State())

    init(root: FilePath) { self.root = root.string }

    func covers(_ path: String) -> Bool { path.hasPrefix(root + "/") }

    /// Takes what is there now as durable, and records from now on.
    func start() throws {
        try state.withLock { state in
            state.initial = try Image(reading: root)
            for path in state.initial.files.keys.sorted() {
                state.numbers[path] = state.next
                state.next += 1
            }
            state.isRecording = true
        }
    }

    func stop() { state.withLock { $0.isRecording = false } }

    /// How many events there are, to say later where a cut falls.
    var count: Int { state.withLock { $0.events.count } }

    /// The events before which the disk holds, or others see, something else than before the last of these: between them a cut leaves the same.
    var turningPoints: [Int] {
        state.withLock { state in
            [0]
                + state.events.indices.filter { index in
                    switch state.events[index] {
                    case .sync, .syncDirectory, .rename, .remove: true
                    case .create, .write, .truncate, .makeDirectory: false
                    }
                }.map { $0 + 1 }
        }
    }

    /// How often each file has been synced, by the end of its name.
    func syncs(of endings: [String]) -> [String: Int] {
        state.withLock { state in
            var paths = Dictionary(uniqueKeysWithValues: state.numbers.map { ($1, $0) })
            for case .create(let number, let path) in state.events { paths[number] = path }
            var counts: [String: Int] = [:]
            for case .sync(let number) in state.events {
                if let ending = endings.first(where: { paths[number]?.hasSuffix($0) == true }) { counts[ending, default: 0] += 1 }
            }
            return counts
        }
    }

    /// An event for people, without its bytes.
    func event(_ number: Int) -> String {
        state.withLock { state in
            guard state.events.indices.contains(number) else { return "the end" }
            return switch state.events[number] {
            case .write(let file, let offset, let bytes): "a write of \(bytes.count) bytes at \(offset) to file \(file)"
            case let other: "\(other)"
            }
        }
    }

    /// The file at a path, made known if it is new.
    func number(of path: String) -> Int {
        state.withLock { state in
            if let number = state.numbers[path] { return number }
            let number = state.next
            state.next += 1
            state.numbers[path] = number
            if state.isRecording { state.events.append(.create(number, path)) }
            return number
        }
    }

    func record(_ event: Event) {
        state.withLock { state in
            switch event {
            case .rename(let from, let to): state.numbers[to] = state.numbers.removeValue(forKey: from)
            case .remove(let path): state.numbers[path] = nil
            default: break
            }
            if state.isRecording { state.events.append(event) }
        }
    }

    /// What the disk holds when the power fails before an event.
    func image(before end: Int, leaving remainder: Remainder) -> Image {
        let (initial, events) = state.withLock { ($0.initial, Array($0.events.prefix(end))) }
        var replay = PowerLossReplay(initial, remainder)
        for event in events { replay.take(event) }
        return replay.cut()
    }
}

/// Files and directories with all that is in them.
struct Image: Sendable, Equatable {
    var files: [String: [UInt8]] = [:]
    var directories: Set<String> = []

    init() {}

    init(reading root: String) throws {
        directories.insert(root)
        for path in try FileManager.default.subpathsOfDirectory(atPath: root) {
            let full = "\(root)/\(path)"
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: full, isDirectory: &isDirectory) else { continue }
            if isDirectory.boolValue {
                directories.insert(full)
            } else if !path.hasSuffix("-shm") {
                // SQLite's shared memory is made anew after a crash.
                files[full] = FileManager.default.contents(atPath: full).map(Array.init) ?? []
            }
        }
    }

    /// Puts it where it came from, in place of what is there.
    func restore(at root: String) throws {
        try? FileManager.default.removeItem(atPath: root)
        for directory in directories.sorted() where isReachable(directory, root) {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        }
        for (path, content) in files where isReachable((path as NSString).deletingLastPathComponent, root) {
            try Data(content).write(to: URL(filePath: path))
        }
    }

    /// Whether each directory above is there too.
    private func isReachable(_ directory: String, _ root: String) -> Bool {
        var path = directory
        while path.count > root.count {
            guard directories.contains(path) else { return false }
            path = (path as NSString).deletingLastPathComponent
        }
        return true
    }
}

/// Follows what is done to a disk, with what has not been synced kept apart.
private struct PowerLossReplay {
    private struct File {
        var durable: [UInt8] = []
        var pending: [PowerLossDisk.Event] = []
    }

    private var files: [Int: File] = [:]
    private var names: [String: Int] = [:]
    private var directories: Set<String>
    /// Changes of names that no sync has made durable, with the number of the file that each is about.
    private var pending: [(event: PowerLossDisk.Event, file: Int?)] = []
    /// The names as a running program sees them.
    private var live: [String: Int] = [:]
    private let remainder: PowerLossDisk.Remainder
    private var random: SeededRandom

    init(_ initial: Image, _ remainder: PowerLossDisk.Remainder) {
        directories = initial.directories
        for (number, path) in initial.files.keys.sorted().enumerated() {
            files[number] = File(durable: initial.files[path]!)
            names[path] = number
        }
        live = names
        self.remainder = remainder
        random = if case .some(let seed) = remainder { SeededRandom(seed: seed) } else { SeededRandom(seed: 0) }
    }

    mutating func take(_ event: PowerLossDisk.Event) {
        switch event {
        case .create(let file, let path):
            live[path] = file
            files[file] = File()
            pending.append((event, file))
        case .write(let file, _, _), .truncate(let file, _): files[file, default: File()].pending.append(event)
        case .sync(let file):
            for change in files[file]?.pending ?? [] { Self.apply(change, to: &files[file]!.durable, upTo: .max) }
            files[file]?.pending = []
        case .makeDirectory: pending.append((event, nil))
        case .rename(let from, let to):
            let file = live.removeValue(forKey: from)
            live[to] = file
            pending.append((event, file))
        case .remove(let path): pending.append((event, live.removeValue(forKey: path)))
        case .syncDirectory(let directory):
            for change in pending where Self.directories(of: change.event).contains(directory) { apply(change) }
            pending.removeAll { Self.directories(of: $0.event).contains(directory) }
        }
    }

    /// What is left once the power is gone.
    mutating func cut() -> Image {
        for change in pending where stays() { apply(change) }
        for file in files.keys.sorted() {
            for change in files[file]!.pending where stays() {
                // A write may stop after some of its sectors.
                let isTorn = if case .some = remainder { Int.random(in: 0..<8, using: &random) == 0 } else { false }
                Self.apply(change, to: &files[file]!.durable, upTo: isTorn ? 512 * Int.random(in: 0...4, using: &random) : .max)
            }
        }
        var image = Image()
        image.directories = directories
        for (path, file) in names { image.files[path] = files[file]!.durable }
        return image
    }

    private mutating func stays() -> Bool {
        switch remainder {
        case .nothing: false
        case .everything: true
        case .some: Bool.random(using: &random)
        }
    }

    private mutating func apply(_ change: (event: PowerLossDisk.Event, file: Int?)) {
        switch change.event {
        case .create(let file, let path): names[path] = file
        case .makeDirectory(let path): directories.insert(path)
        case .rename(let from, let to):
            if names[from] == change.file { names[from] = nil }
            names[to] = change.file
        case .remove(let path): if names[path] == change.file { names[path] = nil }
        case .write, .truncate, .sync, .syncDirectory: break
        }
    }

    private static func apply(_ change: PowerLossDisk.Event, to content: inout [UInt8], upTo limit: Int) {
        switch change {
        case .write(_, let offset, let bytes):
            let bytes = bytes.prefix(limit)
            if content.count < offset + bytes.count { content.append(contentsOf: repeatElement(0, count: offset + bytes.count - content.count)) }
            content.replaceSubrange(offset..<offset + bytes.count, with: bytes)
        case .truncate(_, let size):
            if content.count > size { content.removeLast(content.count - size) } else { content += repeatElement(0, count: size - content.count) }
        default: break
        }
    }

    /// The directories whose sync makes a change of names durable.
    private static func directories(of event: PowerLossDisk.Event) -> [String] {
        func parent(_ path: String) -> String { (path as NSString).deletingLastPathComponent }
        return switch event {
        case .create(_, let path), .makeDirectory(let path), .remove(let path): [parent(path)]
        case .rename(let from, let to): [parent(from), parent(to)]
        case .write, .truncate, .sync, .syncDirectory: []
        }
    }
}
