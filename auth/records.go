package auth

import (
	"encoding/json"
	"errors"

	"go.etcd.io/bbolt"
)

func putDevice(tx *bbolt.Tx, dev Device) error {
	return putJSON(tx.Bucket(bucketDevices), []byte(dev.ID), dev)
}

// putRevoked also forgets the refresh secret: nothing is left to make tokens with.
func putRevoked(tx *bbolt.Tx, dev Device) error {
	return errors.Join(putDevice(tx, dev), tx.Bucket(bucketRefresh).Delete([]byte(dev.ID)))
}

func putJSON(b *bbolt.Bucket, key []byte, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return b.Put(key, data)
}
