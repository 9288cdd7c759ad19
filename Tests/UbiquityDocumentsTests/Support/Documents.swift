import FileCoordination
import Foundation
import Synchronization
import SystemPackage
import UbiquityDocuments
import UbiquityTesting
import Waiting

/// A document of one text file.
final class Letter: Document {
    private(set) var text = ""
    /// How often content was taken to be saved, and loaded.
    private(set) var saves = 0
    private(set) var loads = 0
    /// Every text that was loaded, in order.
    private(set) var loaded: [String] = []
    private(set) var errors: [any Error] = []
    private(set) var moves: [URL] = []
    /// Fails the next saves.
    var refusal: (any Error)?

    /// Opens a letter that is saved only when it is asked to be.
    static func opened(_ path: FilePath) async throws -> Letter {
        let letter = Letter(fileURL: path.url)
        letter.autosavingDelay = nil
        try await letter.open()
        return letter
    }

    func set(_ new: String) {
        let old = text
        undoManager.registerUndo(withTarget: self) { $0.set(old) }
        text = new
    }

    override func contents(forType type: String) throws -> FileWrapper {
        if let refusal { throw refusal }
        saves += 1
        return FileWrapper(regularFileWithContents: Data(text.utf8))
    }

    override func load(fromContents contents: FileWrapper, ofType type: String) throws {
        guard let data = contents.regularFileContents, let new = String(data: data, encoding: .utf8) else { throw CocoaError(.fileReadCorruptFile) }
        loads += 1
        loaded.append(new)
        text = new
    }

    override func handleError(_ error: any Error) { errors.append(error) }
    override func didMove(to newURL: URL) { moves.append(newURL) }

    /// Awaits a state.
    func awaits(_ what: String, _ condition: @escaping @Sendable (DocumentState) -> Bool) async throws {
        for try await state in states.limited(what) where condition(state) { return }
    }
}

/// A document that is a package of two files, which belong together.
final class Bundle: Document {
    var generation = 0
    var sizes = 1

    override func contents(forType type: String) throws -> FileWrapper {
        var package = FileWrapper(directoryWithFileWrappers: [:])
        for name in ["first", "second"] {
            package.addRegularFile(withContents: Data(repeating: UInt8(generation % 251), count: sizes), preferredFilename: name)
        }
        return package
    }

    override func load(fromContents contents: FileWrapper, ofType type: String) throws {
        guard let first = contents["first"]?.regularFileContents, let second = contents["second"]?.regularFileContents else {
            throw CocoaError(.fileReadCorruptFile, userInfo: [NSLocalizedDescriptionKey: "A file of the package is missing"])
        }
        guard first == second else { throw CocoaError(.fileReadCorruptFile) }
        generation = Int(first.first ?? 0)
    }
}

extension FilePath {
    var url: URL { URL(filePath: string, directoryHint: .notDirectory) }
    var text: String? { try? String(contentsOfFile: string, encoding: .utf8) }

    func write(_ text: String) throws { try Data(text.utf8).write(to: url, options: []) }

    /// The names in a directory, without those that stay on this device.
    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: string)) ?? []).filter { !$0.hasSuffix(".nosync") }.sorted() }
}

/// A reader that wants no presenter's changes, and keeps writers waiting.
enum Holder {
    @MainActor
    static func holding<Value>(_ url: URL, _ body: () async throws -> Value) async throws -> Value {
        try await FileCoordinator().read(url, options: .withoutChanges) { _ in try await body() }
    }
}

/// Begins work that belongs to no accessor, as an event of the user's does.
@MainActor
func apart(_ body: @escaping @MainActor @Sendable () async throws -> Void) -> Task<Void, any Error> { Task.detached { try await body() } }
