internal import Foundation
internal import StoreRecords
package import SystemPackage
package import UbiquityContainers

/// Which file a store used last, over launches: so that an app hears at opening that the account, or the container, is another than when it was closed.
///
/// It is `CoreDataUbiquitySupport/<file name>-place`: a line with the place, and one with the container, which earlier versions did not write. Where it is lost nothing is
/// told, and nothing else depends on it. Of several programs on one store the first that is opened hears of a change.
package struct LastPlace {
    /// What was noted.
    package struct Note: Equatable {
        package var place: StoreTransition.Place
        /// The container that the app named; nil where nothing says.
        package var container: ContainerIdentifier?
    }

    private let file: FilePath

    /// - Parameter store: the path that the app gave its store.
    package init(of store: FilePath) { file = StoreFile.supportDirectory(of: store).appending("\(store.lastComponent!.string)-place") }

    /// What was noted; nil where the store has not been open, or the note cannot be read.
    package var note: Note? {
        guard let bytes = FileManager.default.contents(atPath: file.string), bytes.count < 1000 else { return nil }
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

    /// Notes which file is in use, of which container.
    package func note(_ place: StoreTransition.Place, in container: ContainerIdentifier) {
        let line: String
        switch place {
        case .local: line = "local"
        case .fallback(let account): line = "fallback \(account)"
        case .account(let account): line = "account \(account)"
        }
        // Not by Foundation's atomic write: a program that is started meanwhile would get its descriptor.
        let (files, draft) = (LinuxFileLayer(), FilePath("\(file.string)-\(UUID().uuidString)"))
        do {
            try files.writeNew(draft, Array("\(line)\ncontainer \(container)\n".utf8))
            try files.renameOver(draft, to: file)
        } catch {
            try? files.remove(draft)
        }
    }
}
