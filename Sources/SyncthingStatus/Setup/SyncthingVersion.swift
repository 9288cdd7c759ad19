/// A version of Syncthing, such as `v1.19.2-ds1`.
package struct SyncthingVersion: Sendable {
    /// The oldest version whose interface has all that is used: Debian 12 has 1.19.2.
    package static let oldest = "1.19"

    private let numbers: [Int]?

    /// Reads the first two numbers of a version, or of the line that `syncthing --version` prints.
    package init(_ text: String) {
        let word = text.split(separator: " ").first { $0.dropFirst($0.hasPrefix("v") ? 1 : 0).first?.isWholeNumber == true } ?? ""
        let numbers = word.drop { $0 == "v" }.split(separator: ".").prefix(2).map { Int($0) }
        self.numbers = numbers.contains(nil) || numbers.isEmpty ? nil : numbers.compactMap { $0 }
    }

    /// Whether it is older than ``oldest``; an unknown version is not.
    package var isTooOld: Bool { numbers.map { $0.lexicographicallyPrecedes([1, 19]) } ?? false }
}
