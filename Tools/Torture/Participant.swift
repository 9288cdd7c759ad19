import ArgumentParser
import CLinux
import FileCoordination
import Foundation
import Glibc
import Synchronization

/// A process that performs the commands in the lines of a pipe, for tests of coordination between processes.
struct Participant: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "participant",
        abstract: "Run the coordination commands of a pipe, and print the events.",
        discussion: """
            read ID PATH [deadline=MS] · write ID PATH [deleting|moving|replacing] [purpose=NAME] · end ID · cancel ID · move ID FROM TO · \
            present NAME PATH [silent] · answer NAME · dismiss NAME · count N PATH · mode · fork · quit
            """,
        shouldDisplay: false)

    @Argument(help: "A named pipe with commands.")
    var commands: String

    func run() async throws {
        let stage = Stage()
        let (lines, feed) = AsyncStream.makeStream(of: String.self)
        let path = commands
        Thread {
            guard let file = fopen(path, "r+") else { return feed.finish() }
            while let line = readLine(from: file) { feed.yield(line) }
            feed.finish()
        }.start()
        Stage.say("ready \(getpid())")
        for await line in lines {
            guard line != "quit" else { return }
            await stage.perform(line.split(separator: " ").map(String.init))
        }
    }

    private func readLine(from file: UnsafeMutablePointer<FILE>) -> String? {
        var buffer = [CChar](repeating: 0, count: 8192)
        guard fgets(&buffer, CInt(buffer.count), file) != nil else { return nil }
        return String(decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// The open accesses and presenters of a participant.
private actor Stage {
    private enum Order: Sendable {
        case end
        case move(String, String)
    }

    private var orders: [String: AsyncStream<Order>.Continuation] = [:]
    private var coordinators: [String: FileCoordinator] = [:]
    private var presenters: [String: Listener] = [:]

    /// Prints a line at once; see write(2).
    static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

    func perform(_ words: [String]) async {
        switch (words.first, words.count) {
        case ("read", 3...), ("write", 3...): access(words)
        case ("end", 2): orders.removeValue(forKey: words[1])?.yield(.end)
        case ("cancel", 2): coordinators[words[1]]?.cancel()
        case ("move", 4): orders[words[1]]?.yield(.move(words[2], words[3]))
        case ("present", 3...):
            let listener = Listener(words[1], URL(fileURLWithPath: words[2]), isSilent: words.contains("silent"))
            presenters[words[1]] = listener
            FileCoordinator.addFilePresenter(listener)
            Self.say("presenting \(words[1])")
        case ("answer", 2): presenters[words[1]]?.answer()
        case ("dismiss", 2): if let listener = presenters.removeValue(forKey: words[1]) { FileCoordinator.removeFilePresenter(listener) }
        case ("count", 3):
            for _ in 0..<(Int(words[1]) ?? 0) { try? await FileCoordinator().write(URL(fileURLWithPath: words[2])) { _ in } }
            Self.say("counted")
        case ("mode", 1): Self.say("mode \(FileCoordinator.isDelegated ? "delegated" : "brokered")")
        case ("fork", 1):
            let child = clinux_fork()
            if child == 0 { while true { pause() } }
            Self.say("forked \(child)")
        default: Self.say("what? \(words.joined(separator: " "))")
        }
    }

    private func access(_ words: [String]) {
        let (id, url) = (words[1], URL(fileURLWithPath: words[2]))
        let coordinator = FileCoordinator()
        var deadline: FileCoordinator.Deadline?
        var options: FileCoordinator.WritingOptions = []
        for word in words.dropFirst(3) {
            if word.hasPrefix("purpose=") { coordinator.purposeIdentifier = String(word.dropFirst(8)) }
            if word.hasPrefix("deadline="), let time = Int(word.dropFirst(9)) { deadline = .after(.milliseconds(time)) }
            switch word {
            case "deleting": options = .forDeleting
            case "moving": options = .forMoving
            case "replacing": options = .forReplacing
            default: break
            }
        }
        let (stream, continuation) = AsyncStream.makeStream(of: Order.self)
        orders[id] = continuation
        coordinators[id] = coordinator
        let (end, isWrite) = (deadline, words[0] == "write")
        let chosen = options
        Task.detached {
            do {
                let body: @Sendable (URL) async -> Void = { url in
                    Self.say("granted \(id) \(url.path)")
                    for await order in stream {
                        guard case .move(let from, let to) = order else { break }
                        rename(from, to)
                        coordinator.item(at: URL(fileURLWithPath: from), didMoveTo: URL(fileURLWithPath: to))
                        Self.say("moved \(id)")
                    }
                }
                if isWrite {
                    try await coordinator.write(url, options: chosen, deadline: end) { await body($0) }
                } else {
                    try await coordinator.read(url, deadline: end) { await body($0) }
                }
                Self.say("ended \(id)")
            } catch let error as FileCoordinationError {
                Self.say("failed \(id) \(error.code) \(error.message)")
            } catch {
                Self.say("failed \(id) error \(error)")
            }
        }
    }
}

/// A presenter that prints its messages, and may not answer.
private final class Listener: FilePresenter {
    private let name: String
    private let isSilent: Bool
    private let url: Mutex<URL>
    private let gate: AsyncStream<Void>
    private let opener: AsyncStream<Void>.Continuation

    init(_ name: String, _ url: URL, isSilent: Bool) {
        self.name = name
        self.isSilent = isSilent
        self.url = Mutex(url)
        (gate, opener) = AsyncStream.makeStream()
    }

    var presentedItemURL: URL? { url.withLock { $0 } }
    func answer() { opener.yield() }
    private func say(_ what: String) { Stage.say("told \(name) \(what)") }

    private func ask(_ what: String) async {
        say(what)
        guard isSilent else { return }
        for await _ in gate { return }
    }

    func relinquishPresentedItemToReader() async -> Reacquirer? {
        await ask("relinquishToReader")
        return { [self] in say("reacquire") }
    }
    func relinquishPresentedItemToWriter() async -> Reacquirer? {
        await ask("relinquishToWriter")
        return { [self] in say("reacquire") }
    }
    func savePresentedItemChanges() async throws { await ask("save") }
    func accommodatePresentedItemDeletion() async throws { await ask("accommodateDeletion") }
    func presentedItemDidMove(to newURL: URL) async {
        url.withLock { $0 = newURL }
        say("didMove \(newURL.lastPathComponent)")
    }
    func presentedItemDidChange() async { say("didChange") }
    func presentedItemDidDisappear() async { say("didDisappear") }
    func presentedItemDidChangeUbiquityAttributes(_ attributes: Set<UbiquityAttribute>) async { say("attributes") }
    func presentedSubitemDidAppear(at url: URL) async { say("subitemDidAppear \(url.lastPathComponent)") }
    func presentedSubitemDidChange(at url: URL) async { say("subitemDidChange \(url.lastPathComponent)") }
    func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL) async {
        say("subitemDidMove \(oldURL.lastPathComponent) \(newURL.lastPathComponent)")
    }
}
