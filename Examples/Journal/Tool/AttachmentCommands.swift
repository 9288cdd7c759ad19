import ArgumentParser
import Foundation
import JournalModel

/// Runs `journal attach`.
struct AttachCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attach", abstract: "Attach a file to a post, and show its thumbnail.",
        discussion: "PGM, PPM and BMP pictures and texts have a thumbnail of their contents; other files have a label.")

    @Argument(help: "The post.")
    var post: String

    @Argument(help: "The file.", completion: .file())
    var file: String

    @OptionGroup var place: Place

    func run() async throws {
        let url = URL(filePath: file)
        guard let data = try? Data(contentsOf: url) else { throw Failure("\(file) cannot be read; name a file that you may read.") }
        try await place.withJournal { journal in
            let entry = try await journal.post(post)
            guard let attachment = try await journal.attach(data, named: url.lastPathComponent, to: entry.id) else {
                throw Failure("Another device has removed the post meanwhile; nothing is written.")
            }
            print(attachment.thumbnail)
        }
    }
}

/// Runs `journal export-attachment`.
struct ExportAttachmentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "export-attachment", abstract: "Write an attachment of a post to a file.")

    @Argument(help: "The post.")
    var post: String

    @Argument(help: "The attachment's name.")
    var name: String

    @Option(name: .customLong("to"), help: ArgumentHelp("The file to write, which must not exist yet.", valueName: "file"))
    var file: String

    @OptionGroup var place: Place

    func run() async throws {
        try await place.withJournal { journal in
            let entry = try await journal.post(post)
            guard let attachment = try await journal.attachment(name, of: entry.id) else {
                let names = entry.attachments.map(\.name).joined(separator: ", ")
                throw Failure("The post has no attachment “\(name)”; \(names.isEmpty ? "it has none" : "it has: \(names)").")
            }
            do {
                try attachment.data.write(to: URL(filePath: file), options: .withoutOverwriting)
            } catch CocoaError.fileWriteFileExists {
                throw Failure("\(file) exists already; choose another file.")
            }
        }
    }
}
