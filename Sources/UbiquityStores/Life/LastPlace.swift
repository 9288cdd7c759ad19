internal import Foundation
internal import SystemPackage
internal import UbiquityContainers

/// Which file a store used last, over launches: so that an app hears at opening that the account is another than when it was closed.
///
/// It is one line in `CoreDataUbiquitySupport/<file name>-place`. Where it is lost nothing is told, and nothing else depends on it. Of several programs on one store the first that is opened hears of a change.
struct LastPlace {
    private let file: FilePath

    /// - Parameter store: the path that the app gave its store.
    init(of store: FilePath) { file = StoreFile.supportDirectory(of: store).appending("\(store.lastComponent!.string)-place") }

    /// What was noted; nil where the store has not been open, or the note cannot be read.
    var place: StoreTransition.Place? {
        guard let bytes = FileManager.default.contents(atPath: file.string), bytes.count < 1000 else { return nil }
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).first?.split(separator: " ", maxSplits: 1) ?? []
        if words == ["local"] { return .local }
        guard words.count == 2, let account = try? AccountName(String(words[1])) else { return nil }
        switch words[0] {
        case "account": return .account(account)
        case "fallback": return .fallback(account)
        default: return nil
        }
    }

    /// Notes which file is in use.
    func note(_ place: StoreTransition.Place) {
        let line: String
        switch place {
        case .local: line = "local"
        case .fallback(let account): line = "fallback \(account)"
        case .account(let account): line = "account \(account)"
        }
        try? Data("\(line)\n".utf8).write(to: URL(filePath: file.string), options: .atomic)
    }
}
