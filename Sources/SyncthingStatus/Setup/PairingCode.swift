internal import Foundation
package import UbiquityContainers

/// The code that connects a second device: one device shows it, and somebody gives it to the other one.
///
/// The code carries the first device's identifier, by which the other one recognises it, a random secret, by which the
/// other one proves that it was given the code, the account, and the folder. Its text begins with `UBQ` and a letter for
/// the version. The rest is base32, with a checksum over everything, so that each mistyped character, and each burst of
/// up to six, is noticed.
package struct PairingCode: Hashable, Sendable, CustomStringConvertible {
    /// The device that shows the code.
    package var device: DeviceIdentifier
    /// The random secret, 10 bytes.
    package var secret: [UInt8]
    package var account: AccountName
    /// The identifier of Syncthing's folder.
    package var folder: String

    /// The number of bytes of a secret: too many to be found by trying.
    package static let secretLength = 10
    private static let name = "UBQ"
    private static let version = "A"

    /// Makes a code.
    ///
    /// - Parameters:
    ///   - device: the device that shows the code.
    ///   - secret: ``secretLength`` random bytes.
    ///   - account: the account.
    ///   - folder: the identifier of Syncthing's folder, of at most 255 bytes.
    package init(device: DeviceIdentifier, secret: [UInt8], account: AccountName, folder: String) {
        precondition(secret.count == Self.secretLength && folder.utf8.count <= 255, "A secret of \(secret.count) bytes, folder \(folder)")
        self.device = device
        self.secret = secret
        self.account = account
        self.folder = folder
    }

    /// Returns the identifier of the folder that setup makes for an account.
    package static func folder(of account: AccountName) -> String { "ubiquity-\(account)" }

    /// The code as it is shown.
    package var description: String {
        let folder = folder == Self.folder(of: account) ? "" : folder
        var bytes = device.bytes + secret
        for text in [account.description, folder] { bytes += [UInt8(text.utf8.count)] + Array(text.utf8) }
        return Base32.grouped(Self.name + Self.version + Base32.text(of: bytes + Self.checksum(of: bytes)))
    }

    /// Reads a code, as somebody may type it.
    ///
    /// - Parameter text: in any case, with or without dashes, spaces and line ends.
    /// - Throws: ``SetupError``, which says what is wrong.
    package init(_ text: String) throws(SetupError) {
        // A code has at most 1,000 characters; what is longer was never one.
        guard text.utf8.count <= 4096 else { throw Self.notACode }
        let typed = Base32.typed(text)
        if DeviceIdentifier(typed) != nil {
            throw SetupError(
                "This is the identifier of a Syncthing device, not a code; use the code that `ubcontrol setup syncthing` shows there.", isUsage: true)
        }
        guard typed.hasPrefix(Self.name) else { throw Self.notACode }
        let rest = typed.dropFirst(Self.name.count)
        guard rest.hasPrefix(Self.version) else {
            throw SetupError(
                "The code is of another version, or its fourth character is mistyped; compare it, and use one version of ubcontrol on both devices.",
                isUsage: true)
        }
        let mistyped = SetupError("The code is mistyped or incomplete; compare it with the one that the other device shows.", isUsage: true)
        let bytes = Base32.bytes(of: String(rest.dropFirst(Self.version.count))) ?? []
        guard bytes.count > 4 + 32 + Self.secretLength else { throw mistyped }
        var body = bytes.dropLast(4)
        guard Self.checksum(of: Array(body)) == Array(bytes.suffix(4)) else { throw mistyped }
        guard let device = DeviceIdentifier(bytes: body.prefix(32)) else { throw mistyped }
        body = body.dropFirst(32)
        let secret = Array(body.prefix(Self.secretLength))
        body = body.dropFirst(Self.secretLength)
        guard let account = Self.text(&body), let folder = Self.text(&body), body.isEmpty, let name = try? AccountName(account) else {
            throw mistyped
        }
        self.init(device: device, secret: secret, account: name, folder: folder.isEmpty ? Self.folder(of: name) : folder)
    }

    private static var notACode: SetupError {
        SetupError(
            "This is not a code; use the one that `ubcontrol setup syncthing` shows on the other device. It begins with \(name).", isUsage: true)
    }

    private static func text(_ bytes: inout ArraySlice<UInt8>) -> String? {
        guard let count = bytes.popFirst(), bytes.count >= count else { return nil }
        defer { bytes = bytes.dropFirst(Int(count)) }
        return String(validating: bytes.prefix(Int(count)), as: UTF8.self)
    }

    /// Returns the CRC-32 of ISO 3309, which notices each burst of 32 bits, of the name, the version and the bytes.
    private static func checksum(of bytes: [UInt8]) -> [UInt8] {
        var sum = ~UInt32(0)
        for byte in Array((name + version).utf8) + bytes {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum >> 1 ^ (sum & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
        sum = ~sum
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: sum >> UInt32($0)) }
    }
}
