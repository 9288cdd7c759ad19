import Foundation

// A target as the page knows it: a text that it sends back.
extension Target {
    /// The target as a text.
    var text: String {
        let words: [String] =
            switch self {
            case .peer(let peer, let store): ["peer", peer, store]
            case .store(let store): ["store", store]
            case .item(let path): ["item", path]
            case .trouble(let index): ["trouble", String(index)]
            case .log(let path): ["log", path]
            case .change(let number): ["change", String(number)]
            }
        // Strings can always be encoded.
        return (try? JSONEncoder().encode(words)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// Reads a text that came back; nil if it is none.
    init?(_ text: String) {
        guard text.utf8.count < 1 << 16, let words = try? JSONDecoder().decode([String].self, from: Data(text.utf8)), words.count > 1 else {
            return nil
        }
        switch (words[0], words.count) {
        case ("peer", 3): self = .peer(words[1], store: words[2])
        case ("store", 2): self = .store(words[1])
        case ("item", 2): self = .item(words[1])
        case ("log", 2): self = .log(words[1])
        case ("trouble", 2):
            guard let index = Int(words[1]) else { return nil }
            self = .trouble(index)
        case ("change", 2):
            guard let number = Int(words[1]) else { return nil }
            self = .change(number)
        default: return nil
        }
    }
}
