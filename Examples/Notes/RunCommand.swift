import ArgumentParser
import Ubiquity
import UnixSignals

/// Runs `notes run`.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Follow the account, and exchange notes with its other devices, until interrupted.",
        discussion: """
            Prints “ready” once nobody is signed in or the content of the signed-in account has been read, as far as it can be read now. Then it \
            prints a line for each import, with the numbers of notes that were inserted, updated and deleted, and a line “moved” for each change of \
            file, as after a sign-in or a sign-out, with the place of the notes from then on.
            """
    )

    @Flag(help: "Print a JSON object a line: event, and some of place (local, fallback, account), account, inserted, updated, deleted, reason.")
    var json = false

    @OptionGroup var notebook: Notebook

    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let store = try await notebook.open(exchangesAutomatically: true)
        let printing = Task { [json] in await Self.print(store, json: json) }
        for await _ in signals { break }
        printing.cancel()
        try await store.close()
    }

    private static func print(_ store: UbiquitousStore, json: Bool) async {
        if let obstacle = await store.reachAccount() { warn("\(obstacle)") }
        var notices = store.notices.makeAsyncIterator()
        var place = NotebookPlace(await store.place)
        Line(ready: place).print(json: json)
        while let notice = await notices.next() {
            if case .didChange(let change) = notice {
                // A late observer receives the last change of file, which “ready” has told already.
                let next = NotebookPlace(change.added.place)
                guard next != place else { continue }
                place = next
            }
            Line(notice)?.print(json: json)
        }
    }
}
