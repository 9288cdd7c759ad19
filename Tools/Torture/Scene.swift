import FileCoordination
import Foundation
import Synchronization
import SystemPackage
import UbiquityTesting

/// A few directories whose files contain numbers, with changing presenters.
///
/// A writer adds one to a file's number, and a deletion subtracts the file's number. In the end the sum of the files
/// equals the reported sum, unless two writers ran at once.
final class Scene: Sendable {
    let directory: URL
    let client: CoordinationClient
    let checker: any Recorder
    private let presenters = Mutex<[ToyPresenter]>([])

    static let folders = ["d0", "d1", "d2", "p.bundle"]
    static let files = ["a", "b", "c"]

    init(directory: URL, client: CoordinationClient, checker: any Recorder) {
        self.directory = directory
        self.client = client
        self.checker = checker
    }

    func coordinator(for presenter: (any FilePresenter)? = nil) -> FileCoordinator { FileCoordinator(filePresenter: presenter, client: client) }
    func folder(_ name: String) -> URL { directory.appending(path: name, directoryHint: .notDirectory) }
    func file(_ folder: String, _ name: String) -> URL { directory.appending(path: "\(folder)/\(name)", directoryHint: .notDirectory) }

    // MARK: Numbers

    /// Returns the number in a file; nil if there is none, or its creator was killed before it wrote one.
    func number(_ url: URL) -> Int? {
        guard let text = try? String(contentsOf: url, encoding: .utf8), !text.isEmpty else { return nil }
        guard let number = Int(text) else {
            checker.complain("\(url.path) holds “\(text)”, which somebody is writing")
            return 0
        }
        return number
    }

    /// Adds one, in two steps between which other accesses could run.
    func increment(_ url: URL, between: () -> Void = {}) {
        let number = number(url) ?? 0
        between()
        checker.adding()
        do {
            try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try write(number + 1, to: url)
            checker.added()
        } catch {
            checker.complain("\(url.path) cannot be written: \(error)")
        }
    }

    /// Writes a fixed number of bytes in one step, so that a killed process leaves the old number or the new one.
    private func write(_ number: Int, to url: URL) throws {
        let file = try FileDescriptor.open(FilePath(url.path), .writeOnly, options: [.create, .closeOnExec], permissions: .ownerReadWrite)
        defer { try? file.close() }
        try file.writeAll(String(format: "%012ld", number).utf8)
    }

    /// Removes a file, or a folder with its files.
    func remove(_ url: URL) {
        var numbers: [Int] = []
        if let number = number(url) {
            numbers = [number]
        } else {
            for name in (try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? [] {
                if let number = number(url.appending(path: name)) { numbers.append(number) }
            }
        }
        for number in numbers { checker.removing(number) }
        try? FileManager.default.removeItem(at: url)
        for number in numbers { checker.removed(number) }
    }

    func sumOfFiles() -> Int {
        let names = FileManager.default.enumerator(atPath: directory.path)?.compactMap { $0 as? String } ?? []
        return names.compactMap { number(directory.appending(path: $0)) }.reduce(0, +)
    }

    // MARK: Presenters

    /// Adds a presenter, or removes or releases one.
    func changePresenters(_ random: inout SeededRandom) {
        let url =
            Bool.random(using: &random)
            ? folder(Self.folders.randomElement(using: &random)!)
            : file(Self.folders.randomElement(using: &random)!, Self.files.randomElement(using: &random)!)
        let seed = random.next()
        let removes = Bool.random(using: &random)
        let added = ToyPresenter(url, self, seed: seed)
        let gone = presenters.withLock { presenters -> ToyPresenter? in
            presenters.append(added)
            return presenters.count > 10 ? presenters.remove(at: Int(seed % UInt64(presenters.count))) : nil
        }
        client.add(added)
        if let gone, removes { client.remove(gone) }
    }

    /// Returns when no presenter has unhandled messages.
    func presentersAreDone() async {
        while client.hasUnhandledMessages { try? await Task.sleep(for: .milliseconds(10)) }
        let all = presenters.withLock { presenters in
            defer { presenters = [] }
            return presenters
        }
        for presenter in all { client.remove(presenter) }
    }
}

extension SeededRandom {
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}

/// A presenter that saves, reads and refuses randomly.
final class ToyPresenter: FilePresenter {
    struct Refusal: Error {}

    private struct State {
        var url: URL
        var random: SeededRandom
        var isBusy = false
    }
    private let state: Mutex<State>
    private let scene: Scene
    private let isFolder: Bool

    init(_ url: URL, _ scene: Scene, seed: UInt64) {
        state = Mutex(State(url: url, random: SeededRandom(seed: seed)))
        isFolder = Scene.folders.contains(url.lastPathComponent)
        self.scene = scene
    }

    var presentedItemURL: URL? { state.withLock { $0.url } }

    private func chance(_ percent: Int) -> Bool { state.withLock { $0.random.chance(percent) } }

    /// Handles one message at a time.
    private func turn<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        let wasBusy = state.withLock { state in
            defer { state.isBusy = true }
            return state.isBusy
        }
        if wasBusy { scene.checker.complain("a presenter of \(presentedItemURL?.path ?? "") got two messages at once") }
        defer { state.withLock { $0.isBusy = false } }
        if chance(30) { await Task.yield() }
        return try await body()
    }

    func relinquishPresentedItemToReader() async -> Reacquirer? { await relinquish() }
    func relinquishPresentedItemToWriter() async -> Reacquirer? { await relinquish() }
    private func relinquish() async -> Reacquirer? {
        await turn { chance(50) ? { @Sendable [self] in await turn {} } : nil }
    }

    func savePresentedItemChanges() async throws {
        try await turn {
            if chance(3) { throw Refusal() }
            guard !isFolder, chance(50), let url = presentedItemURL else { return }
            try await scene.coordinator(for: self).write(url) { scene.increment($0) }
        }
    }

    func accommodatePresentedItemDeletion() async throws { try await turn { if chance(3) { throw Refusal() } } }
    func presentedItemDidMove(to newURL: URL) async { await turn { state.withLock { $0.url = newURL } } }
    func presentedItemDidChange() async {
        await turn {
            guard !isFolder, chance(20), let url = presentedItemURL else { return }
            try? await scene.coordinator(for: self).read(url) { _ = scene.number($0) }
        }
    }
    func presentedSubitemDidAppear(at url: URL) async { await turn {} }
    func presentedSubitemDidChange(at url: URL) async { await turn {} }
    func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL) async { await turn {} }
}
