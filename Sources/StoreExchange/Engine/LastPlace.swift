internal import Foundation
internal import StoreRecords
package import SystemPackage
package import UbiquityContainers

/// The file that a store used last, kept over launches to detect a change of account or container at the next opening.
///
/// It is `CoreDataUbiquitySupport/<file name>-place`: a line with the place, and a line with the container, which
/// earlier versions did not write. If the file is lost, the store announces no change, and nothing else depends on it.
/// If several programs share a store, the first one that opens it announces the change.
package struct LastPlace {
    /// The content of the file.
    package struct Note: Equatable {
        package var place: StoreTransition.Place
        /// The container that the app named; nil if the file does not say.
        package var container: ContainerIdentifier?
    }

    private let file: FilePath

    /// - Parameter store: the path that the app gave its store.
    package init(of store: FilePath) { file = StoreFile.supportDirectory(of: store).appending("\(store.lastComponent!.string)-place") }

    /// The note; nil if the store has never been open, or the file cannot be read.
    package var note: Note? {
        // Without its last newline it is cut off.
        // Not read by Foundation: a program that starts at that moment would inherit its descriptor.
        guard let bytes = try? LinuxFileLayer().read(file, limit: 999), bytes.last == UInt8(ascii: "\n") else { return nil }
        let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).map { $0.split(separator: " ", maxSplits: 1) }
        guard let words = lines.first, let place = Self.place(words) else { return nil }
        let container = lines.dropFirst().first { $0.count == 2 && $0[0] == "container" }.flatMap { try? ContainerIdentifier(String($0[1])) }
        return Note(place: place, container: container)
    }

    private static func place(_ words: [Substring]) -> StoreTransition.Place? {
        if words == ["local"] { return .local }
        guard words.count == 2, let account = try? AccountName(String(words[1])) else { return nil }
        switch words[0] {
        case "account": return .account(account)
        case "fallback": return .fallback(account)
        default: return nil
        }
    }

    /// Notes the file in use and its container, unless the note already says so.
    package func note(_ place: StoreTransition.Place, in container: ContainerIdentifier) {
        if note == Note(place: place, container: container) { return }
        let line: String
        switch place {
        case .local: line = "local"
        case .fallback(let account): line = "fallback \(account)"
        case .account(let account): line = "account \(account)"
        }
        // Not written by Foundation, for the same reason. Not synced: a note that a loss of power has cut off counts as lost.
        let (files, draft) = (LinuxFileLayer(), FilePath("\(file.string)-\(UUID().uuidString)"))
        do {
            try files.writeNew(draft, Array("\(line)\ncontainer \(container)\n".utf8), syncing: false)
            try files.renameOver(draft, to: file)
        } catch {
            try? files.remove(draft)
        }
    }
}
