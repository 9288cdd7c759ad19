internal import Foundation
package import ObjectTransfer

extension ObjectStoreError {
    /// Creates the error of an answer of rclone.
    ///
    /// rclone passes on what a back end says, so the words decide where no status does.
    ///
    /// - Parameters:
    ///   - text: rclone's words; they hold no credential, but may hold an address, which is left out.
    ///   - status: the status of its answer; nil if it has given none.
    /// - Returns: the error.
    package static func rclone(_ text: String, status: Int?) -> ObjectStoreError {
        // So Amazon's client calls its own limit of repetitions.
        let lower = text.lowercased().replacing("retry quota exceeded", with: "")
        func says(_ words: String...) -> Bool { words.contains { lower.contains($0) } }
        let codes = Self.codes(lower)
        let kind: Kind
        if says("nosuchbucket", "didn't find section in config file", "didn't find backend", "bucket does not exist") {
            kind = .unusable
        } else if status == 404 || says("object not found", "directory not found", "nosuchkey", "no such file") {
            kind = .notFound
        } else if codes.contains("507")
            || says("insufficient storage", "quota", "no space left", "storage limit", "entitytoolarge", "insufficient_space")
        {
            kind = .quota
        } else if says(
            "undecryptable name", "bad decrypt", "failed to decrypt", "not an encrypted file", "bad pkcs#7", "failed to authenticate decrypted")
            || says("not a multiple of blocksize", "too short to be decrypted", "bad password")
        {
            kind = .wrongPassword
        } else if says("requesttimetooskewed", "time difference between the request") {
            return ObjectStoreError(.authorization, "\(sanitized(text)): set this device's clock")
        } else if codes.contains("401") || codes.contains("403")
            || says("unauthorized", "forbidden", "invalid_grant", "token expired", "unable to authenticate", "accessdenied", "permission denied")
            || says("signaturedoesnotmatch", "invalidaccesskeyid", "couldn't fetch token", "empty token")
        {
            kind = .authorization
        } else if !codes.isDisjoint(with: ["500", "502", "503", "504"])
            || says("connection refused", "no such host", "no route to host", "network is unreachable", "i/o timeout", "connection reset", "dial tcp")
            || says("unexpected eof", ": eof", "server misbehaving", "broken pipe", "couldn't connect", "tls handshake")
        {
            kind = .unreachable
        } else if says("deadline exceeded", "timed out", "timeout") {
            kind = .timedOut
        } else {
            kind = .other
        }
        return ObjectStoreError(kind, sanitized(text))
    }

    /// Returns the numbers in a text that are the status of an answer: those that a word such as “status” stands before, or a
    /// reason such as “Unauthorized” behind.
    ///
    /// Sizes, hashes and identifiers of requests hold the digits too.
    private static func codes(_ text: String) -> Set<String> {
        let words = text.split { !$0.isLetter && !$0.isNumber }.map(String.init)
        let before: Set = ["status", "code", "statuscode", "http", "error"]
        let behind: Set = ["unauthorized", "forbidden", "insufficient", "bad", "service", "gateway", "internal"]
        return Set(
            words.indices.filter { place in
                guard words[place].count == 3, Int(words[place]) != nil else { return false }
                return place > 0 && before.contains(words[place - 1]) || place + 1 < words.count && behind.contains(words[place + 1])
            }.map { words[$0] })
    }

    /// Leaves out addresses, which may hold a name, a password or a signature, and cuts a long text.
    static func sanitized(_ text: String) -> String {
        let words = text.split(separator: " ", omittingEmptySubsequences: false).map { word -> Substring in
            guard let scheme = word.range(of: "://") else { return word }
            let rest = word[scheme.upperBound...]
            let end = rest.firstIndex { "/?\"'".contains($0) } ?? rest.endIndex
            var host = rest[..<end]
            if let sign = host.lastIndex(of: "@") { host = host[host.index(after: sign)...] }
            return "\(word[..<scheme.upperBound])\(host)/…"
        }
        let line = words.joined(separator: " ").replacing("\n", with: " ")
        return line.count > 300 ? "\(line.prefix(300))…" : line
    }
}
