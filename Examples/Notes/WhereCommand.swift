import ArgumentParser
import Foundation
import Ubiquity

/// Runs `notes where`.
struct WhereCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "where",
        abstract: "Show whose notes these are, whether they reach other devices, and in which file they lie.",
        discussion: """
            The file is the local one while nobody is signed in, the account's fallback file until the content of its other devices has been read, and \
            the account's file from then on. The container is read first, unless --offline is given.
            """
    )

    @Flag(help: "Print a JSON object: place (local, fallback, account), account, file, unpublished (logs that have not gone out).")
    var json = false

    @Flag(help: "Do not read the container.")
    var offline = false

    @OptionGroup var notebook: Notebook

    func run() async throws {
        let store = try await notebook.open()
        if !offline {
            do { try await store.settled() } catch { warn("\(error)") }
        }
        let (place, file) = (NotebookPlace(await store.place), store.file.string)
        let unpublished = try await store.status().unpublished
        try await store.close()
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let answer = Answer(place: place.kind, account: place.account, file: file, unpublished: unpublished)
            print(String(decoding: try encoder.encode(answer), as: UTF8.self))
        } else {
            print("\(place.text)\(unpublished > 0 ? "; logs not published: \(unpublished)" : "")")
            print(file)
        }
    }

    /// The output of `--json`.
    private struct Answer: Encodable {
        var place: String
        var account: String?
        var file: String
        var unpublished: Int
    }
}
