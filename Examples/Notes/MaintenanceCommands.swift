import ArgumentParser
import Ubiquity

/// Runs `notes compact`.
struct CompactCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Write all notes into one file, from which a new device starts, and remove the superseded files.",
        discussion: "Notebooks do this automatically after some thousand saves. Files that another device has not read yet stay.")

    @OptionGroup var notebook: Notebook

    func run() async throws {
        let store = try await notebook.openAccount()
        let number = try await store.rollBaseline()
        try await store.close()
        print(number.map { "Wrote baseline \($0)." } ?? "Notes were being written meanwhile: nothing was done.")
    }
}

/// Runs `notes rebuild`.
struct RebuildCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild",
        abstract: "Rebuild this device's notebook from the container.",
        discussion: "The notebook stays unchanged until then, and also if the container lacks data of the notebook.")

    @OptionGroup var notebook: Notebook

    func run() async throws {
        let store = try await notebook.openAccount()
        try await store.rebuildFromUbiquitousContent()
        try await store.close()
        print("Rebuilt the notebook.")
    }
}
