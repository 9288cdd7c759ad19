import ArgumentParser
import Foundation
import Ubiquity

/// Runs `texts follow`.
struct FollowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "follow",
        abstract: "Show a text whenever it changes, and add each line of standard input to it, until the input ends.")

    @OptionGroup var text: NamedText

    @MainActor
    func run() async throws {
        try await text.withDocument { document in
            document.textDidLoad = { [weak document] in if let document { show(document) } }
            document.saveDidFail = { note("\($0)") }
            let states = Task {
                for await state in document.states where state != .normal { note("state: \(state)") }
            }
            defer { states.cancel() }
            show(document)
            while let line = await TypedLine.next() {
                document.append(line)
                try await document.save()
                show(document)
            }
        }
    }

    @MainActor
    private func show(_ document: TextDocument) {
        // At once, whatever the output is.
        let end = document.text.hasSuffix("\n") ? "" : "\n"
        FileHandle.standardOutput.write(Data("--- \(document.fileURL.lastPathComponent)\n\(document.text)\(end)".utf8))
    }
}

/// Runs `texts browse`.
struct BrowseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "browse", abstract: "A list of the texts that changes as they do; type a number to read one, e and a number to edit it.")

    /// What happens: the texts have changed, or the person has typed a line, or nothing more.
    private enum Event: Sendable {
        case texts([MetadataItem])
        case line(String?)
    }

    @MainActor
    func run() async throws {
        let query = try await Shelf.open().query
        query.start()
        let (events, event) = AsyncStream.makeStream(of: Event.self)
        let updates = Task {
            for await update in query.updates where [.gatheringFinished, .updated].contains(update.kind) { event.yield(.texts(update.results)) }
        }
        defer { updates.cancel() }
        // A line is read only when it is waited for, because an editor reads the terminal too.
        func listen() { Task { event.yield(.line(await TypedLine.next())) } }
        // The numbers are those of the list, so it comes first.
        var isListening = false
        var texts: [MetadataItem] = []
        for await event in events {
            switch event {
            case .texts(let new):
                texts = new
                show(texts)
                if !isListening { listen() }
                isListening = true
            case .line(let line):
                guard let line, try await obey(line.trimmingCharacters(in: .whitespaces), texts) else { return }
                listen()
            }
        }
    }

    private func show(_ texts: [MetadataItem]) {
        print("")
        for (index, text) in texts.enumerated() { print("\(index + 1)\t\(text.line)") }
        print("number: show · e number: edit · a number line: add a line · r number: resolve · q: quit")
    }

    /// Carries out a typed line; false to quit.
    @MainActor
    private func obey(_ line: String, _ texts: [MetadataItem]) async throws -> Bool {
        let words = line.split(separator: " ", maxSplits: 2).map(String.init)
        guard let first = words.first else { return true }
        if first == "q" { return false }
        guard let number = Int(words.count > 1 && ["a", "e", "r"].contains(first) ? words[1] : first), texts.indices.contains(number - 1) else {
            note("“\(line)” is not understood.")
            return true
        }
        let document = TextDocument(fileURL: texts[number - 1].url)
        do {
            try await document.open()
            switch first {
            case "a": if words.count > 2 { document.append(words[2]) }
            case "e": try await edit(document)
            case "r": try await Resolution(document: document, includesAll: false).ask()
            default: print(document.text)
            }
            try await document.close()
        } catch {
            document.closeWithoutSaving()
            note("\(error)")
        }
        return true
    }
}

/// Reads the lines of standard input, one when it is asked for.
enum TypedLine {
    /// Returns the next line; nil at the end.
    static func next() async -> String? {
        await withCheckedContinuation { continuation in
            // readLine() blocks, which no thread of the cooperative pool should.
            Thread { continuation.resume(returning: readLine()) }.start()
        }
    }
}
