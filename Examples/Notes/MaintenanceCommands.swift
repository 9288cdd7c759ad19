import ArgumentParser
import Ubiquity

/// Runs `notes compact`.
struct CompactCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "compact",
        abstract: "Write all notes down in one file, with which a new device begins, and remove what that makes superfluous.",
        discussion: "Notebooks do so by themselves after some thousand saves. What another device has not read yet stays.")

    @OptionGroup var notebook: Notebook

    func run() async throws {
        let store = try await notebook.open()
        let number = try await store.rollBaseline()
        try await store.close()
        print(number.map { "Wrote baseline \($0)." } ?? "Notes were being written meanwhile: nothing was done.")
    }
}

/// Runs `notes rebuild`.
struct RebuildCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild",
        abstract: "Make this device's notebook anew from what is in the container.",
        discussion: "The notebook stays as it is until that is done, and where the container lacks something that it has.")

    @OptionGroup var notebook: Notebook

    func run() async throws {
        let store = try await notebook.open()
        try await store.rebuildFromUbiquitousContent()
        try await store.close()
        print("Rebuilt the notebook.")
    }
}
