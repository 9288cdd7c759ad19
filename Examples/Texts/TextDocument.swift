import Foundation
import Ubiquity

/// A text: a plain file, or a text bundle, which is a package with the text and its description.
final class TextDocument: Document {
    /// The extensions of texts.
    nonisolated static let extensions = ["txt", "md", "textbundle"]
    private static let mainFile = "text.md"

    /// The files of a text bundle that this app does not know; they are kept.
    private var others = FileWrapper(directoryWithFileWrappers: [:])

    private(set) var text = ""
    /// Is called when the text has changed on disk.
    var textDidLoad: @MainActor () -> Void = {}
    /// Is called when a save by itself has failed.
    var saveDidFail: @MainActor (any Error) -> Void = { _ in }

    /// Changes the text, so that it can be undone.
    func edit(_ new: String) {
        guard new != text else { return }
        let old = text
        undoManager.registerUndo(withTarget: self) { $0.edit(old) }
        text = new
    }

    override func contents(forType type: String) throws -> FileWrapper {
        let file = FileWrapper(regularFileWithContents: Data(text.utf8))
        guard type == "textbundle" else { return file }
        var package = others
        package[Self.mainFile] = file
        if package["info.json"] == nil {
            package["info.json"] = FileWrapper(regularFileWithContents: Data(#"{"version":2,"type":"net.daringfireball.markdown"}"#.utf8))
        }
        return package
    }

    override func load(fromContents contents: FileWrapper, ofType type: String) throws {
        let file = contents.isDirectory ? contents[Self.mainFile] : contents
        guard let data = file?.regularFileContents, let new = String(data: data, encoding: .utf8) else {
            throw Shelf.Failure(
                "\(fileURL.path(percentEncoded: false)) is no text: it holds no UTF-8 text\(contents.isDirectory ? " named \(Self.mainFile)" : "").")
        }
        others = contents.isDirectory ? contents : others
        text = new
        textDidLoad()
    }

    override func handleError(_ error: any Error) { saveDidFail(error) }
}
