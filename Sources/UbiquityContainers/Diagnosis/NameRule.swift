internal import Foundation

/// The rules for a name that all of the user's devices can store, on any system.
package enum NameRule: CaseIterable, Sendable {
    /// Syncthing leaves out names that are not text, and few programs can open them.
    case isText
    /// Other systems and Syncthing rewrite such names.
    case isComposed
    /// Windows reserves some characters
    /// (https://learn.microsoft.com/windows/win32/fileio/naming-a-file).
    case hasPlainCharacters
    /// Windows reserves some names.
    case isNoDevice
    /// Windows removes dots and spaces at the end.
    case endsPlainly
    /// Syncthing adds 38 bytes to the name of a copy that lost a conflict, and the limit is 255 bytes.
    case leavesRoom

    /// Returns the rules that a name breaks; a name that is not text breaks only ``isText``.
    package static func broken(by text: String) -> [NameRule] { allCases.filter { $0.isBroken(by: text) } }

    // A directory may contain very many names, so slow checks run only for names that may break the rule.
    private func isBroken(by text: String) -> Bool {
        let bytes = text.utf8
        return switch self {
        case .isText: false
        case .isComposed:
            bytes.contains { $0 >= 0x80 } && !text.unicodeScalars.elementsEqual(text.precomposedStringWithCanonicalMapping.unicodeScalars)
        case .hasPlainCharacters: bytes.contains { $0 < 0x20 || Self.reserved.contains($0) }
        case .isNoDevice: Self.initials.contains(bytes.first!) && Self.devices.contains(Self.stem(of: text))
        case .endsPlainly: bytes.last == UInt8(ascii: ".") || bytes.last == UInt8(ascii: " ")
        case .leavesRoom: bytes.count > 255 - Self.conflictMark.utf8.count
        }
    }

    /// Returns the part of a name that Windows compares with the names of devices.
    private static func stem(of text: String) -> String { text.prefix { $0 != "." }.trimmingCharacters(in: .whitespaces).uppercased() }

    private static let reserved = Set(#"<>:"|?*\"#.utf8)
    private static let initials = Set("CPANLcpanl".utf8)
    private static let conflictMark = ".sync-conflict-20260102-030405-ABCDEFG"
    private static let devices: Set<String> = Set(
        ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"] + ["COM", "LPT"].flatMap { port in "0123456789¹²³".map { "\(port)\($0)" } })

    /// Returns the name as systems see it that ignore case and spelling.
    package static func folded(_ text: String) -> String {
        text.utf8.allSatisfy { $0 < 0x80 } ? text.lowercased() : text.precomposedStringWithCanonicalMapping.lowercased()
    }

    package var severity: Finding.Severity { self == .isText ? .fault : .warning }

    package var what: String {
        switch self {
        case .isText: "has a name that is not UTF-8, and is left out by Syncthing"
        case .isComposed: "has a name with decomposed letters (not NFC), which other systems rewrite"
        case .hasPlainCharacters: #"has a name with one of <>:"|?*\ or a control character, which Windows cannot store"#
        case .isNoDevice: "has the name of a device of Windows, which cannot store it"
        case .endsPlainly: "has a name that ends in a dot or a space, which Windows cannot store"
        case .leavesRoom: "has a name so long that a copy that lost a conflict cannot be kept beside it"
        }
    }

    package var remedy: String {
        switch self {
        case .leavesRoom: "give it a name of at most 217 bytes"
        default: "rename it"
        }
    }
}
