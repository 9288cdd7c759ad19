import Foundation
import Ubiquity

/// The texts of the signed-in account.
struct Shelf {
    /// A sentence for the person at the terminal.
    struct Failure: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }

    static let identifier = "org.example.texts"

    let container: UbiquityContainer

    /// Finds the container, and creates its directory of documents.
    static func open() async throws -> Shelf {
        guard try DeviceHome.standard().account != nil else {
            throw Failure(
                "Texts belong to an account, and nobody is signed in on this device: sign in with ubcontrol sign-in ACCOUNT --containers DIR.")
        }
        let container = try await UbiquityContainer(identifier)
        try FileManager.default.createDirectory(atPath: container.documents.string, withIntermediateDirectories: true)
        return Shelf(container: container)
    }

    /// Returns the place of a text: a path, or a name in the container of the signed-in account.
    static func url(of name: String) async throws -> URL {
        name.contains("/") ? URL(filePath: name).absoluteURL.standardizedFileURL : try await open().url(ofName: name)
    }

    private func url(ofName name: String) throws -> URL {
        guard !name.isEmpty, !name.hasPrefix(".") else { throw Failure("“\(name)” is no name of a text: give one that begins with no dot.") }
        let names = TextDocument.extensions.contains((name as NSString).pathExtension) ? [name] : TextDocument.extensions.map { "\(name).\($0)" }
        let existing = names.first { container.hasItem($0) }
        let text = existing ?? names[0]
        return URL(filePath: container.documents.appending(text).string, directoryHint: text.hasSuffix(".textbundle") ? .isDirectory : .notDirectory)
    }

    /// A query for all texts, by name.
    var query: MetadataQuery {
        MetadataQuery(
            container, batchingInterval: .milliseconds(300), transport: { DirectoryTransport($0) },
            sortedBy: { $0.name.localizedStandardCompare($1.name) == .orderedAscending }
        ) { item in TextDocument.extensions.contains { item.name.hasSuffix(".\($0)") } }
    }

    /// The texts that are there now.
    func list() async -> [MetadataItem] {
        let query = query
        query.start()
        for await update in query.updates where update.kind == .gatheringFinished || update.kind == .updated { return update.results }
        return []
    }
}

extension UbiquityContainer {
    /// Whether a document of this name is here or elsewhere.
    fileprivate func hasItem(_ name: String) -> Bool {
        let manager = FileManager.default
        return manager.fileExists(atPath: documents.appending(name).string)
            || manager.fileExists(atPath: documents.appending(".\(name).icloud").string)
    }
}

extension MetadataItem {
    /// A line for a list.
    var line: String {
        var words = [name.padding(toLength: max(28, name.count), withPad: " ", startingAt: 0)]
        words.append(size.formatted(.byteCount(style: .file)))
        if isHere { words.append(contentModificationDate.formatted(date: .abbreviated, time: .shortened)) }
        if !isHere { words.append("(on another device)") }
        if hasUnresolvedConflicts { words.append("(in conflict: texts resolve \"\(name)\")") }
        return words.joined(separator: "  ")
    }
}
